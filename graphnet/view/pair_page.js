// Two pages of pictures that move together. The one that the reader uses leads; the other one follows.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const sides = [document.getElementById('left'), document.getElementById('right')];
const partners = [new Map(), new Map()];  // from boxes of a side to those of the other one
for (let k = 0; k < data.pairs.length; k += 2) {
  partners[0].set(data.pairs[k], data.pairs[k + 1]);
  partners[1].set(data.pairs[k + 1], data.pairs[k]);
}
const framePairs = [];
const followed = [-1, -1];  // the box that was selected when the other side followed
let leader = 1, ready = 0;

const pictureOf = (side) => sides[side].contentWindow.picture;

// Modules of both are the same if their labels are, in order.
function pairFrames() {
  const keysOf = (frames) => {
    const seen = new Map();
    return frames.map((f) => {
      const times = seen.get(f.label) ?? 0;
      seen.set(f.label, times + 1);
      return `${times} ${f.label}`;
    });
  };
  const [left, right] = [0, 1].map((side) => keysOf(pictureOf(side).frames));
  const inRight = new Map(right.map((key, j) => [key, j]));
  left.forEach((key, i) => { if (inRight.has(key)) framePairs.push([i, inRight.get(key)]); });
}

function fold(from, to, side) {
  let changed = false;
  for (const pair of framePairs) {
    const own = from.frames[pair[side]], other = to.frames[pair[1 - side]];
    changed = changed || own.folded !== other.folded;
    other.folded = own.folded;
  }
  if (changed) to.layOut();
}

function select(from, to, side) {
  const chosen = from.selected();
  if (chosen === followed[side]) return;
  followed[side] = chosen;
  const partner = partners[side].get(chosen) ?? -1;
  to.select(partner);
  followed[1 - side] = partner;
  if (chosen >= 0 && partner < 0) {
    sides[1 - side].contentDocument.getElementById('detail').textContent = 'This graph has no such node.';
  }
}

// Returns the selected box if it is in view, or else the one nearest to the middle, of those that both
// sides show.
function anchorOf(from, to, side) {
  const canvas = sides[side].contentDocument.getElementById('graph');
  const width = canvas.clientWidth, height = canvas.clientHeight;
  let nearest = -1, least = Infinity;
  for (const [id, partner] of partners[side]) {
    const b = from.boxes[id];
    if (!from.isOpen(b.frame) || !to.isOpen(to.boxes[partner].frame)) continue;
    const x = (b.x + b.width / 2) * from.camera.scale + from.camera.x - width / 2;
    const y = (b.y + b.height / 2) * from.camera.scale + from.camera.y - height / 2;
    const isSelected = id === from.selected() && Math.abs(x) < width / 2 && Math.abs(y) < height / 2;
    const distance = isSelected ? -1 : x * x + y * y;
    if (distance < least) { least = distance; nearest = id; }
  }
  return nearest;
}

function follow(side) {
  const from = pictureOf(side), to = pictureOf(1 - side);
  fold(from, to, side);
  select(from, to, side);
  const anchor = anchorOf(from, to, side);
  if (anchor >= 0) {
    const own = from.boxes[anchor], other = to.boxes[partners[side].get(anchor)];
    const {scale, x, y} = from.camera;
    to.camera.scale = scale;
    to.camera.x = x + (own.x + own.width / 2 - other.x - other.width / 2) * scale;
    to.camera.y = y + (own.y + own.height / 2 - other.y - other.height / 2) * scale;
  }
  to.redraw();
}

// What differs on either side, in the order of the right one.
let stops = [], stopAt = -1;
function findStops() {
  const left = pictureOf(0), right = pictureOf(1);
  stops = right.stops().map((id) => ({side: 1, id, place: id}));
  for (const id of left.stops()) {
    if (partners[0].has(id)) continue;  // Its partner is one.
    let next = id;
    while (next < left.boxes.length && !partners[0].has(next)) ++next;
    stops.push({side: 0, id, place: (partners[0].get(next) ?? right.boxes.length) - 0.5});
  }
  stops.sort((a, b) => a.place - b.place);
}

function step(by) {
  if (stops.length === 0) return;
  stopAt = stopAt < 0 && by < 0 ? stops.length - 1 : (stopAt + by + stops.length) % stops.length;
  leader = stops[stopAt].side;
  pictureOf(leader).goTo(stops[stopAt].id);
  follow(leader);
  for (const frame of sides) {
    frame.contentDocument.getElementById('stop').textContent = `${stopAt + 1} of ${stops.length}`;
  }
}

sides.forEach((frame, side) => {
  frame.onload = () => {
    const inside = frame.contentWindow;
    for (const event of ['pointerdown', 'wheel', 'keydown', 'input', 'click']) {
      inside.addEventListener(event, () => { leader = side; }, true);
    }
    inside.picture.onStep = step;
    inside.picture.onDraw = () => { if (ready === 2 && leader === side) follow(side); };
    if (++ready < 2) return;
    pairFrames();
    findStops();
    step(1);
    sides[leader].focus();
    follow(leader);
  };
  frame.srcdoc = data.pages[side];
});
