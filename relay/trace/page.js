"use strict";
const rows = [...document.querySelectorAll(".row")];
const boxes = [...document.querySelectorAll("#filters input[value]")];
const search = document.getElementById("search");
const blocked = document.getElementById("blocked");
const shown = document.getElementById("shown");
function filter() {
  const kinds = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
  const word = search.value.toLowerCase();
  let n = 0;
  for (const row of rows) {
    const stopped = row.dataset.state === "denied" || row.dataset.state === "failed";
    row.hidden = !kinds.has(row.dataset.kind) || (blocked.checked && !stopped) || (word !== "" && !row.textContent.toLowerCase().includes(word));
    if (!row.hidden) n++;
  }
  shown.textContent = n + " of " + rows.length;
}
function move(by) {
  const seen = rows.filter((r) => !r.hidden);
  if (seen.length === 0) return;
  const now = seen.indexOf(document.activeElement.closest(".row"));
  const next = now < 0 ? (by > 0 ? 0 : seen.length - 1) : Math.min(Math.max(now + by, 0), seen.length - 1);
  seen[next].querySelector("summary").focus();
}
document.getElementById("filters").addEventListener("input", filter);
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target.matches("input")) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  if (e.key === "j" || e.key === "ArrowDown") move(1);
  else if (e.key === "k" || e.key === "ArrowUp") move(-1);
  else if (e.key === "/") search.focus();
  else return;
  e.preventDefault();
});
filter();
