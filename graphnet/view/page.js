// The page of a picture: places the unfolded items (the data has rows and their order, see
// layout.h) and draws the visible part. page_values.js follows in the same script.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const M = data.metrics;
const BOX = 0, FRAME = 1, ENTRY = 2, EXIT = 3;  // LayoutItem::Kind; the last is a bend
const FOLDED_HEIGHT = 34;
const FEW = 400;    // A picture of at most so many boxes opens unfolded.
const FIRST = 100;  // A larger one opens with at most so many boxes and folded modules, if modules allow.
const FEW_BODIES = 8;
const SWEEPS = 8, FIRST_SWEEPS = 3, MIDDLE = 0.06, BEND_MIDDLE = 0.02, FRAME_MIDDLE = 0.5, ALMOST_STRAIGHT = 10;
const MAX_HITS = 200;

const byId = (id) => document.getElementById(id);
const view = byId('view'), canvas = byId('graph'), map = byId('map');

// ---- The picture ----

const boxes = data.boxes.map((b, i) => ({
  id: i, title: b[0], name: b[1], constants: b[2], parameters: b[3], value: b[4], frame: b[5],
  style: b[6], width: b[7], height: b[8], itemWidth: b[9], itemHeight: b[10], outside: b[11],
  text: b[12], place: b[13], module: b[14], notes: data.notes[i] ?? [], values: data.values[i] ?? [], x: 0, y: 0, inputs: [], users: [],
}));
const frames = data.frames.map((f, i) => {
  const items = [];
  for (let k = 0; k < f.items.length; k += 2) {
    items.push({kind: f.items[k], index: f.items[k + 1], row: 0, x: 0, width: 0, height: 0, up: [], down: []});
  }
  f.rows.forEach((row, r) => { for (const k of row) items[k].row = r; });
  const links = [];
  for (let k = 0; k < f.links.length; k += 4) {
    const link = {from: items[f.links[k]], to: items[f.links[k + 1]], value: f.links[k + 2],
                  far: f.links[k + 3] === 1, fromX: 0, toX: 0};
    links.push(link);
    if (link.far) continue;
    link.to.up.push(link);
    link.from.down.push(link);
  }
  const entries = new Map(), exits = new Map();
  for (const item of items) {
    if (item.kind === ENTRY) entries.set(item.index, item);
    if (item.kind === EXIT) exits.set(item.index, item);
  }
  return {
    id: i, label: f.label, parent: f.parent, depth: f.depth, body: f.body, size: f.size, items, links,
    rows: f.rows.map((row) => row.map((k) => items[k])), entries, exits, folded: false, x: 0, y: 0,
    width: 0, height: 0, rowY: [], rowHeight: [], farLinks: links.filter((l) => l.far),
  };
});
for (let k = 0; k < data.arrows.length; k += 2) {
  boxes[data.arrows[k]].users.push(data.arrows[k + 1]);
  boxes[data.arrows[k + 1]].inputs.push(data.arrows[k]);
}
const bodies = frames.filter((f) => f.body).length;
const searched = boxes.map((b) => `${b.name} ${b.title} ${b.text} ${b.value}`.toLowerCase());

// Returns whether a frame and all frames around it are unfolded.
function isOpen(f) {
  for (; f > 0; f = frames[f].parent) if (frames[f].folded) return false;
  return true;
}

// The outermost frame and the main graph stay open.
const isFixed = (f) => f.id === 0 || (f.id === 1 && f.body);

function foldDeeper(depth) {
  for (const f of frames) f.folded = !isFixed(f) && (f.body ? depth < Infinity && bodies > FEW_BODIES : f.depth > depth);
}

function foldAtFirst() {
  if (data.depth >= 0) return foldDeeper(data.depth);
  if (boxes.length <= FEW) return bodies > FEW_BODIES ? foldDeeper(1e9) : undefined;
  // From the outermost on, the modules within one unfold together, or not at all.
  for (const f of frames) f.folded = !isFixed(f);
  const count = (f) => f.items.filter((i) => i.kind <= FRAME).length;
  const inside = (f) => f.items.filter((i) => i.kind === FRAME).map((i) => frames[i.index]);
  let shown = frames.filter(isFixed).reduce((sum, f) => sum + count(f), 0);
  for (const waiting = frames.filter(isFixed); waiting.length > 0;) {
    const within = inside(waiting.shift()).filter((f) => f.folded);
    const more = within.reduce((sum, f) => sum + count(f) - 1, 0);
    if (shown + more > FIRST) continue;
    shown += more;
    for (const f of within) f.folded = false;
    waiting.push(...within);
  }
}

// ---- Places, as layout.cc finds them ----

const isBend = (item) => item.kind >= ENTRY;
const gap = (a, b) => isBend(a) || isBend(b) ? M.bendGap : M.boxGap;
const pull = (l) => isBend(l.from) && isBend(l.to) ? 8 : l.from.down.length === 1 && l.to.up.length === 1 ? 4 : isBend(l.from) || isBend(l.to) ? 0.3 : 1;

function placeRow(row, useUp, useDown) {
  const sums = [], weights = [], counts = [], offsets = [];
  let offset = 0;
  for (let k = 0; k < row.length; ++k) {
    const own = row[k];
    if (k > 0) offset += row[k - 1].width + gap(row[k - 1], own);
    offsets.push(offset);
    let sum = 0, weight = 0;
    if (useUp) {
      for (const l of own.up) {
        const w = pull(l);
        sum += w * (l.from.x + l.fromX - l.toX);
        weight += w;
      }
    }
    if (useDown) {
      for (const l of own.down) {
        const w = pull(l);
        sum += w * (l.to.x + l.toX - l.fromX);
        weight += w;
      }
    }
    if (weight === 0) {
      weight = 0.05;
      sum = weight * own.x;
    } else {
      const middle = weight * (isBend(own) ? BEND_MIDDLE : own.kind === FRAME ? FRAME_MIDDLE : MIDDLE);
      sum -= middle * own.width / 2;
      weight += middle;
    }
    sum -= weight * offset;
    let count = 1;
    while (sums.length > 0 && sums[sums.length - 1] / weights[weights.length - 1] > sum / weight) {
      sum += sums.pop();
      weight += weights.pop();
      count += counts.pop();
    }
    sums.push(sum);
    weights.push(weight);
    counts.push(count);
  }
  let k = 0;
  for (let b = 0; b < sums.length; ++b) {
    for (let c = 0; c < counts[b]; ++c, ++k) row[k].x = sums[b] / weights[b] + offsets[k];
  }
}

function straighten(row) {
  row.forEach((own, k) => {
    let shift = ALMOST_STRAIGHT;
    for (const l of own.up) {
      const needed = l.from.x + l.fromX - l.toX - own.x;
      if (Math.abs(needed) < Math.abs(shift)) shift = needed;
    }
    if (shift === ALMOST_STRAIGHT || shift === 0) return;
    const x = own.x + shift;
    if (k > 0 && x < row[k - 1].x + row[k - 1].width + gap(row[k - 1], own)) return;
    if (k + 1 < row.length && x + own.width + gap(own, row[k + 1]) > row[k + 1].x) return;
    own.x = x;
  });
}

function portX(item, value, ports) {
  if (item.kind === BOX) return boxes[item.index].width / 2;
  if (item.kind !== FRAME) return 0;
  const inner = frames[item.index];
  const port = inner.folded ? undefined : inner[ports].get(value);
  return port === undefined ? item.width / 2 : M.framePadding + port.x;
}

function placeFrame(f) {
  for (const item of f.items) {
    if (item.kind === BOX) {
      item.width = boxes[item.index].itemWidth;
      item.height = boxes[item.index].itemHeight;
    } else if (item.kind === FRAME) {
      const inner = frames[item.index];
      if (inner.folded) {
        inner.width = Math.max(70, inner.label.length * 6.8 + 26);
        inner.height = FOLDED_HEIGHT;
      } else {
        placeFrame(inner);
      }
      item.width = inner.width;
      item.height = inner.height;
    }
  }
  for (const l of f.links) {
    l.fromX = portX(l.from, l.value, 'exits');
    l.toX = portX(l.to, l.value, 'entries');
  }
  for (const row of f.rows) {
    let x = 0;
    row.forEach((item, k) => {
      if (k > 0) x += gap(row[k - 1], item);
      item.x = x;
      x += item.width;
    });
    for (const item of row) item.x -= x / 2;
  }
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    const both = sweep >= FIRST_SWEEPS;
    for (const row of f.rows) placeRow(row, true, both);
    for (let r = f.rows.length - 1; r >= 0; --r) placeRow(f.rows[r], both, true);
  }
  for (const row of f.rows) straighten(row);
  let left = Infinity, right = 0;
  for (const row of f.rows) left = Math.min(left, row[0].x);
  for (const row of f.rows) {
    for (const item of row) item.x -= left;
    right = Math.max(right, row[row.length - 1].x + row[row.length - 1].width);
  }
  const header = f.id > 0 ? M.headerHeight : 0, padding = f.id > 0 ? M.framePadding : 0;
  const slant = new Float64Array(f.rows.length);
  for (const l of f.links) {
    if (l.far) continue;
    slant[l.from.row] = Math.max(slant[l.from.row], Math.abs(l.from.x + l.fromX - l.to.x - l.toX));
  }
  f.rowY = [];
  f.rowHeight = [];
  let y = header;
  f.rows.forEach((row, r) => {
    let height = 0;
    for (const item of row) height = Math.max(height, item.height);
    f.rowY.push(y);
    f.rowHeight.push(height);
    y += height;
    if (r + 1 < f.rows.length) y += Math.min(M.rowGap + 0.08 * slant[r], M.maxRowGap);
  });
  f.rowY.push(y);
  f.height = y + padding;
  f.width = Math.max(right, f.id > 0 ? f.label.length * 6.8 + 16 : 0) + 2 * padding;
}

function settle(f) {
  const left = f.x + (f.id > 0 ? M.framePadding : 0);
  for (const item of f.items) {
    if (item.kind > FRAME) continue;
    const target = item.kind === BOX ? boxes[item.index] : frames[item.index];
    target.x = left + item.x;
    target.y = f.y + f.rowY[item.row];
    if (item.kind === FRAME && !target.folded) settle(target);
  }
}

function layOut() {
  placeFrame(frames[0]);
  settle(frames[0]);
  drawMap();
}

// ---- Drawing ----

const FONT = 'Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif';
const dark = matchMedia('(prefers-color-scheme: dark)');
let theme;
function chooseTheme() {
  const css = getComputedStyle(document.documentElement);
  const get = (name) => css.getPropertyValue(name).trim();
  theme = {
    ground: get('--ground'), text: get('--text'), dim: get('--dim'), hit: get('--hit'), link: get('--link'),
    edge: dark.matches ? '#8d9297' : '#777', far: dark.matches ? '#444' : '#ccc',
    frame: dark.matches ? 'rgba(255,255,255,.035)' : 'rgba(0,0,0,.03)',
    frameLine: dark.matches ? '#555' : '#b5b5b5', body: '#7659ad', folded: dark.matches ? '#2b4048' : '#d8e4e8',
    foldedLine: '#5e7f8a', different: '#b3362a',
  };
}

const camera = {scale: 1, x: 0, y: 0};  // screen = world * scale + (x, y)
let selected = -1;
let hits = [], hitSet = new Set(), hitAt = -1;
let pending = false;

function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

// Returns the first row of a frame that ends below y.
function firstRow(f, y) {
  let low = 0, high = f.rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (f.y + f.rowY[middle + 1] < y) low = middle + 1; else high = middle;
  }
  return low;
}

function traceLink(c, f, l, heads) {
  const left = f.x + (f.id > 0 ? M.framePadding : 0);
  const top = f.y + f.rowY[l.from.row];
  let start = top;
  if (l.from.kind === BOX) start += boxes[l.from.index].height;
  else if (l.from.kind === FRAME) start += l.from.height;
  else if (l.from.kind === ENTRY) start = f.y;
  const bottom = top + f.rowHeight[l.from.row];
  if (l.from.kind > EXIT) start = bottom;  // the part above belongs to the link to the bend
  const x1 = left + l.from.x + l.fromX, x2 = left + l.to.x + l.toX;
  const end = f.y + f.rowY[l.to.row];
  const head = l.to.kind === BOX || (l.to.kind === FRAME && (frames[l.to.index].folded || l.value >= boxes.length));
  const stop = head ? end - 4 : end;
  c.moveTo(x1, start);
  if (bottom > start) c.lineTo(x1, bottom);
  if (x1 === x2 || camera.scale < 0.15) {
    c.lineTo(x2, stop);
  } else {
    const middle = (bottom + stop) / 2;
    c.bezierCurveTo(x1, middle, x2, middle, x2, stop);
  }
  if (head) heads.push(x2, end);
  else if (l.to.kind > EXIT) c.lineTo(x2, end + f.rowHeight[l.to.row]);
  else if (l.to.kind === EXIT) c.lineTo(x2, f.y + f.height);
}

function drawHeads(c, heads, color) {
  if (camera.scale < 0.25 || heads.length === 0) return;
  c.fillStyle = color;
  c.beginPath();
  for (let k = 0; k < heads.length; k += 2) {
    c.moveTo(heads[k] - 3, heads[k + 1] - 6);
    c.lineTo(heads[k] + 3, heads[k + 1] - 6);
    c.lineTo(heads[k], heads[k + 1]);
  }
  c.fill();
}

function rounded(c, x, y, w, h, r) {
  c.beginPath();
  if (camera.scale < 0.3) c.rect(x, y, w, h); else c.roundRect(x, y, w, h, r);
}

function drawBox(c, b) {
  const style = data.styles[b.style];
  if (camera.scale < 0.1 && b.id !== selected && !hitSet.has(b.id)) {
    c.fillStyle = colorOf(b, true);
    c.fillRect(b.x, b.y, b.width, Math.max(b.height, 0.5 / camera.scale));
    return;
  }
  rounded(c, b.x, b.y, b.width, b.height, 4);
  c.fillStyle = colorOf(b, false);
  c.fill();
  const isHit = hitSet.has(b.id);
  c.strokeStyle = b.id === selected ? theme.link : isHit ? theme.hit : style[2];
  c.lineWidth = b.id === selected || isHit ? 3 / Math.min(camera.scale, 1) : 1;
  if (style[4]) c.setLineDash([4, 3]);
  c.stroke();
  if (style[4]) c.setLineDash([]);
  c.lineWidth = 1;
  if (camera.scale < 0.35) return;
  const middle = b.x + b.width / 2;
  let y = b.y + M.boxPadding / 2 + M.titleHeight - 4;
  c.textAlign = 'center';
  c.fillStyle = theme.text;
  c.font = `bold 12px ${FONT}`;
  c.fillText(b.title, middle, y);
  if (camera.scale < 0.45) return;
  c.font = `10px ${FONT}`;
  if (b.name !== '') {
    if (scale === null) c.fillStyle = theme.dim;  // The colours of values can be strong.
    c.fillText(b.name, middle, y += M.lineHeight);
    c.fillStyle = theme.text;
  }
  for (const line of b.constants) c.fillText(line, middle, y += M.lineHeight);
  c.textAlign = 'left';
  for (const line of b.parameters) c.fillText(line, b.x + M.boxPadding, y += M.lineHeight);
  if (b.value === '' || b.itemHeight === b.height) return;
  c.strokeStyle = theme.ground;
  c.lineWidth = 3;
  c.strokeText(b.value, middle + 5, b.y + b.height + 11);
  c.lineWidth = 1;
  c.fillStyle = theme.dim;
  c.fillText(b.value, middle + 5, b.y + b.height + 11);
}

function drawFolded(c, f) {
  rounded(c, f.x, f.y, f.width, f.height, 6);
  c.fillStyle = theme.folded;
  c.fill();
  const within = hits.some((h) => isIn(boxes[h].frame, f.id));
  c.strokeStyle = within ? theme.hit : f.different > 0 ? theme.different : theme.foldedLine;
  c.lineWidth = within || f.different > 0 ? 3 / Math.min(camera.scale, 1) : 1;
  c.stroke();
  c.lineWidth = 1;
  if (camera.scale < 0.35) return;
  c.textAlign = 'center';
  c.fillStyle = theme.text;
  c.font = `bold 11px ${FONT}`;
  c.fillText(`▸ ${f.label}`, f.x + f.width / 2, f.y + 14);
  c.font = `10px ${FONT}`;
  c.fillStyle = theme.dim;
  c.fillText(`${f.size} nodes${f.different > 0 ? `, ${f.different} differ` : ''}`, f.x + f.width / 2, f.y + 27);
}

function isIn(f, outer) {
  for (; f > 0; f = frames[f].parent) if (f === outer) return true;
  return false;
}

let drawn = 0;  // boxes in the last frame

function drawFrame(c, f, seen) {
  if (f.id > 0) {
    rounded(c, f.x, f.y, f.width, f.height, 6);
    c.fillStyle = theme.frame;
    if (!f.body) c.fill();
    c.strokeStyle = f.body ? theme.edge : theme.frameLine;
    if (f.body) c.setLineDash([5, 3]);
    c.stroke();
    c.setLineDash([]);
  }
  const from = firstRow(f, seen.top);
  let to = from;
  while (to < f.rows.length && f.y + f.rowY[to] <= seen.bottom) ++to;
  const lines = [], bodies = [], heads = [], marked = [];
  const sort = (l) => (isMarked(l.value) ? marked : l.value >= boxes.length ? bodies : lines).push(l);
  for (let r = Math.max(0, from - 1); r < to; ++r) {
    for (const item of f.rows[r]) for (const l of item.down) sort(l);
  }
  c.lineWidth = camera.scale < 0.3 ? 0.6 / camera.scale : 1;
  const trace = (links, color, dash) => {
    if (links.length === 0) return;
    c.beginPath();
    for (const l of links) traceLink(c, f, l, heads);
    c.setLineDash(dash);
    c.strokeStyle = color;
    c.stroke();
    c.setLineDash([]);
  };
  if (f.farLinks.length > 0) {
    trace(f.farLinks.filter((l) => !isMarked(l.value) && f.y + f.rowY[l.from.row] < seen.bottom &&
                                   f.y + f.rowY[l.to.row] > seen.top), theme.far, []);
    for (const l of f.farLinks) if (isMarked(l.value)) marked.push(l);
  }
  // At small scales, arrows are shorter than a pixel.
  if (camera.scale >= 0.02) trace(lines, theme.edge, []);
  trace(bodies, theme.body, [4, 3]);
  drawHeads(c, heads, theme.edge);
  heads.length = 0;
  c.lineWidth = 2 / Math.min(camera.scale, 1);
  trace(marked, theme.link, []);
  drawHeads(c, heads, theme.link);
  c.lineWidth = 1;
  for (let r = from; r < to; ++r) {
    for (const item of f.rows[r]) {
      if (item.kind === BOX) {
        const b = boxes[item.index];
        if (b.x > seen.right || b.x + item.width < seen.left) continue;
        ++drawn;
        if (b.outside) {
          c.strokeStyle = theme.edge;
          c.beginPath();
          c.moveTo(b.x + b.width / 2, b.y + b.height);
          c.lineTo(b.x + b.width / 2, b.y + b.height + M.valueHeight);
          c.stroke();
        }
        drawBox(c, b);
      } else if (item.kind === FRAME) {
        const inner = frames[item.index];
        if (inner.x > seen.right || inner.x + inner.width < seen.left) continue;
        if (inner.folded) { ++drawn; drawFolded(c, inner); } else drawFrame(c, inner, seen);
      }
    }
  }
  if (f.id > 0 && camera.scale >= 0.35) {
    c.textAlign = 'left';
    c.font = `bold 10px ${FONT}`;
    c.strokeStyle = theme.ground;
    c.lineWidth = 3;
    c.strokeText(`▾ ${f.label}`, f.x + 8, f.y + 13);
    c.lineWidth = 1;
    c.fillStyle = theme.dim;
    c.fillText(`▾ ${f.label}`, f.x + 8, f.y + 13);
  }
}

const isMarked = (value) => selected >= 0 && (value === selected || boxes[selected].inputs.includes(value));

function fitCanvas(c) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(c.clientWidth * ratio), h = Math.round(c.clientHeight * ratio);
  if (c.width !== w || c.height !== h) { c.width = w; c.height = h; }
  return ratio;
}

function draw() {
  const ratio = fitCanvas(canvas);
  const c = canvas.getContext('2d');
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.fillStyle = theme.ground;
  c.fillRect(0, 0, canvas.width, canvas.height);
  const s = camera.scale * ratio;
  c.setTransform(s, 0, 0, s, camera.x * ratio, camera.y * ratio);
  const seen = {
    left: -camera.x / camera.scale, top: -camera.y / camera.scale,
    right: (canvas.clientWidth - camera.x) / camera.scale, bottom: (canvas.clientHeight - camera.y) / camera.scale,
  };
  drawn = 0;
  if (boxes.length > 0) drawFrame(c, frames[0], seen);
  drawWindow(seen);
  window.picture?.onDraw?.();
}

// The strip at the right shows the whole picture and marks its visible part.
const strip = document.createElement('canvas');

// Returns how many of its pixels stand for one of the picture, across and down. A small picture does not
// fill the strip, or boxes would be bars.
function mapScale(ratio) {
  const across = map.clientWidth / Math.max(frames[0].width, 1);
  const down = Math.min(map.clientHeight / Math.max(frames[0].height, 1), 1.5 * across);
  return [across * ratio, down * ratio];
}

function drawMap() {
  const ratio = fitCanvas(map);
  strip.width = map.width;
  strip.height = map.height;
  const c = strip.getContext('2d');
  const [sx, sy] = mapScale(ratio);
  const paint = (b, color) => {
    c.fillStyle = color;
    c.fillRect(b.x * sx, b.y * sy, Math.max(b.width * sx, ratio), Math.max(b.height * sy, ratio));
  };
  const walk = (f) => {
    for (const item of f.items) {
      if (item.kind === BOX) {
        const b = boxes[item.index];
        paint(b, hitSet.has(b.id) ? theme.hit : colorOf(b, true));
      } else if (item.kind === FRAME) {
        const inner = frames[item.index];
        if (inner.folded) paint(inner, inner.different > 0 ? theme.different : theme.foldedLine); else walk(inner);
      }
    }
  };
  if (boxes.length > 0) walk(frames[0]);
}

function drawWindow(seen) {
  const c = map.getContext('2d');
  const [sx, sy] = mapScale(window.devicePixelRatio || 1);
  c.clearRect(0, 0, map.width, map.height);
  c.drawImage(strip, 0, 0);
  c.strokeStyle = theme.link;
  c.lineWidth = 2;
  c.strokeRect(Math.max(seen.left * sx, 1), Math.max(seen.top * sy, 1),
               Math.min(Math.max((seen.right - seen.left) * sx, 4), map.width - 2), Math.max((seen.bottom - seen.top) * sy, 4));
}
