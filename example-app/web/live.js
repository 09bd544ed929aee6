// Shows how many pages are newer than those on the page, and under the hood, newer
// pictures. Without it, the page works the same, and a reload shows what is new.
"use strict";
{
	const still = matchMedia("(prefers-reduced-motion: reduce)");
	for (const place of document.querySelectorAll("[data-hood]")) {
		const source = new EventSource(place.dataset.hood);
		const said = document.querySelector("[data-following]");
		source.onopen = () => { said.textContent = said.dataset.following; };
		source.onmessage = (event) => {
			place.innerHTML = event.data;
			if (still.matches) return;
			for (const lit of place.querySelectorAll(".lit")) {
				lit.animate({ opacity: [0, 1, 0.2, 1] }, 1200);
			}
		};
		addEventListener("pagehide", () => source.close());
	}
}
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
	addEventListener("pagehide", () => source.close());
}
