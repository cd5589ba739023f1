// What a page shows at nodes besides their kind: how they differ, and values of one's own (data.columns).
// page_controls.js follows in the same script.

// The styles of what differs (style.cc).
const DIFFERENT = ['different', 'removed', 'added', 'changed'];
const differs = (b) => DIFFERENT.includes(data.styles[b.style][0]) || b.notes.length > 0;

// ---- Colours by a column ----

const numbersOf = (c) => boxes.map((b) => b.values[c]).filter((v) => typeof v === 'number');
// The columns that have numbers, with their range. If all are above 0 and far apart, their logarithms count.
const scales = data.columns.map((name, column) => {
  const numbers = numbersOf(column);
  if (numbers.length === 0) return null;
  const low = numbers.reduce((a, b) => Math.min(a, b)), high = numbers.reduce((a, b) => Math.max(a, b));
  const form = low > 0 && high > 1000 * low ? Math.log : (v) => v;
  return {name, column, low, high, share: (v) => high === low ? 1 : (form(v) - form(low)) / (form(high) - form(low))};
});
// The scale that colours boxes; null: their styles do.
let scale = data.marked ? null : scales.find((s) => s !== null) ?? null;

const shade = (share) => dark.matches ? `hsl(28 65% ${14 + 34 * share}%)` : `hsl(28 90% ${97 - 42 * share}%)`;

// Returns the colour of a box for its area, or for a dot if it is drawn as one.
function colorOf(b, isDot) {
  const style = data.styles[b.style];
  if (scale === null) return isDot ? style[2] : dark.matches ? style[3] : style[1];
  const value = b.values[scale.column];
  return typeof value === 'number' ? shade(scale.share(value)) : isDot ? theme.edge : theme.ground;
}

// ---- From one node to the next ----

// What the reader steps through: nodes that differ in program order, or the largest values first.
let stops = [], stopAt = -1;

function findStops() {
  stops = boxes.filter(differs).map((b) => b.id);
  if (scale !== null) {
    const value = (id) => boxes[id].values[scale.column];
    stops = boxes.map((b) => b.id).filter((id) => typeof value(id) === 'number').sort((a, b) => value(b) - value(a));
  }
  stopAt = -1;
  for (const f of frames) f.different = 0;
  for (const b of boxes) if (differs(b)) for (let f = b.frame; f >= 0; f = frames[f].parent) ++frames[f].different;
}
findStops();

const short = (v) => typeof v === 'number' ? String(Number(v.toPrecision(6))) : v;
