// Tells how many pages are newer than those shown. Without it the page is the
// same, and a reload tells.
"use strict";
for (const place of document.querySelectorAll("[data-live]")) {
	const source = new EventSource(place.dataset.live);
	source.onmessage = (event) => {
		const count = Number.parseInt(event.data, 10);
		if (!(count > 0)) return;
		const link = document.createElement("a");
		link.href = place.dataset.to;
		link.textContent = count === 1 ? "1 is new" : count + " are new";
		place.replaceChildren(link, " since you opened this page.");
	};
	addEventListener("pagehide", () => source.close());
}
