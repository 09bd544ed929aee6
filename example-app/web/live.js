// Shows how many pages are newer than those on the page. Without it, the page works
// the same, and a reload shows the newer ones.
"use strict";
for (const place of document.querySelectorAll("[data-live]")) {
	const source = new EventSource(place.dataset.live);
	source.onmessage = (event) => {
		const count = Number.parseInt(event.data, 10);
		if (!(count > 0)) return;
		const link = document.createElement("a");
		link.href = place.dataset.to;
		link.textContent = count === 1 ? "1 new page" : count + " new pages";
		place.replaceChildren(link, " since you opened this one.");
	};
	source.addEventListener("over", () => source.close());
	addEventListener("pagehide", () => source.close());
}
