// Shows titles while a visitor types. Without it, Enter leads to a page with the same.
"use strict";
{
	const field = document.getElementById("search");
	const found = document.getElementById("found");
	const said = field.form.querySelector("[role=status]");
	let asked = new AbortController();
	let wait;
	const close = () => {
		clearTimeout(wait);
		asked.abort();
		found.hidden = true;
		said.textContent = "";
	};
	const ask = async () => {
		asked.abort();
		asked = new AbortController();
		const { signal } = asked;
		const answer = await fetch(field.dataset.found + "?q=" + encodeURIComponent(field.value), { signal });
		const markup = await answer.text();
		if (signal.aborted || !answer.ok) return;
		found.innerHTML = markup;
		found.hidden = false;
		said.textContent = found.querySelector("p").textContent;
	};
	field.addEventListener("input", () => {
		clearTimeout(wait);
		if (field.value.trim() === "") return close();
		wait = setTimeout(() => ask().catch(() => {}), 150);
	});
	field.form.addEventListener("keydown", (event) => {
		if (found.hidden) return;
		const stops = [field, ...found.querySelectorAll("a")];
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === "Escape") {
			field.focus();
			close();
		} else if (step) {
			stops[Math.max(0, stops.indexOf(document.activeElement) + step)]?.focus();
		} else return;
		event.preventDefault();
	});
	field.form.addEventListener("focusout", (event) => {
		if (!field.form.contains(event.relatedTarget)) close();
	});
	field.form.addEventListener("submit", close);
}
