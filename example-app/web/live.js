// Replaces the parts of a page that show what is in the store now with newer ones. Without
// it, the page works the same, and a reload shows what is new.
"use strict";
for (const place of document.querySelectorAll("[data-live]")) {
	const still = matchMedia("(prefers-reduced-motion: reduce)");
	const said = document.querySelector("[data-following]");
	const source = new EventSource(place.dataset.live);
	source.onopen = () => { said.textContent = said.dataset.following; };
	source.onmessage = (event) => {
		const fresh = document.createElement("template");
		fresh.innerHTML = event.data;
		for (const part of [...fresh.content.children]) {
			const old = document.getElementById(part.id);
			// Links that a visitor points at or has come to with the keyboard stay where they are.
			if (old?.querySelector("a:hover, a:focus")) continue;
			old?.replaceWith(part);
			for (const lit of still.matches ? [] : part.querySelectorAll(".lit")) {
				lit.animate({ opacity: [0, 1, 0.2, 1] }, 1200);
			}
		}
	};
	addEventListener("pagehide", () => source.close());
}
