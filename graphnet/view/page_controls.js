// What a reader does with the picture that page.js draws: moving, selecting, searching, the mouse and
// the keys.

// ---- Moving ----

const room = () => canvas.clientWidth - map.clientWidth;

function zoomAt(x, y, factor) {
  const scale = Math.min(4, Math.max(0.002, camera.scale * factor));
  camera.x = x - (x - camera.x) * scale / camera.scale;
  camera.y = y - (y - camera.y) * scale / camera.scale;
  camera.scale = scale;
  redraw();
}

function fit() {
  const w = room(), h = canvas.clientHeight;
  camera.scale = Math.min(1.2, (w - 40) / Math.max(frames[0].width, 1), (h - 40) / Math.max(frames[0].height, 1));
  camera.x = (w - frames[0].width * camera.scale) / 2;
  camera.y = Math.max(20, (h - frames[0].height * camera.scale) / 2);
  redraw();
}

// Shows the whole picture if it is readable at that scale, otherwise its first inputs.
function openView() {
  fit();
  if (camera.scale >= 0.5 || boxes.length === 0) return;
  const first = frames[0].rows[0][0];
  const target = first.kind === BOX ? boxes[first.index] : frames[first.index];
  camera.scale = Math.max(0.5, Math.min(1, (room() - 40) / frames[0].width));
  camera.x = frames[0].width * camera.scale <= room() ? (room() - frames[0].width * camera.scale) / 2
                                                      : room() / 2 - (target.x + target.width / 2) * camera.scale;
  camera.y = 20;
}

function unfoldAround(f) {
  let changed = false;
  for (; f > 0; f = frames[f].parent) {
    changed = changed || frames[f].folded;
    frames[f].folded = false;
  }
  if (changed) layOut();
}

function goTo(id) {
  const b = boxes[id];
  unfoldAround(b.frame);
  if (camera.scale < 0.6) camera.scale = 0.9;
  camera.x = room() / 2 - (b.x + b.width / 2) * camera.scale;
  camera.y = canvas.clientHeight / 2 - (b.y + b.height / 2) * camera.scale;
  select(id);
}

function toggle(f) {
  // The clicked frame stays in its place.
  const before = {x: f.x * camera.scale + camera.x, y: f.y * camera.scale + camera.y};
  f.folded = !f.folded;
  if (selected >= 0 && !isOpen(boxes[selected].frame)) select(-1);
  layOut();
  camera.x = before.x - f.x * camera.scale;
  camera.y = before.y - f.y * camera.scale;
  redraw();
}

// ---- The panel ----

function element(tag, text, parent) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

function select(id) {
  selected = id;
  redraw();
  if (id < 0) return;
  const b = boxes[id], detail = byId('detail');
  detail.replaceChildren();
  element('h2', b.name || b.title, detail);
  if (b.notes.length > 0) element('pre', b.notes.join('\n'), detail).className = 'note';
  if (b.text) element('pre', b.text, detail);
  const list = element('dl', undefined, detail);
  const say = (term, text) => {
    if (!text) return;
    element('dt', term, list);
    element('dd', text, list);
  };
  const module = b.module || (b.frame > 0 && !frames[b.frame].body ? frames[b.frame].label : '');
  say('value', b.value);
  say('kind', data.styles[b.style][0]);
  say('module', module);
  say('place', b.place);
  b.values.forEach((value, c) => { if (value !== null) say(data.columns[c], String(short(value))); });
  for (const [term, ids] of [['inputs', b.inputs], ['users', b.users]]) {
    if (ids.length === 0) continue;
    element('dt', term, list);
    const links = element('dd', undefined, list);
    for (const other of ids.slice(0, MAX_HITS)) {
      element('a', boxes[other].name || boxes[other].title, links).onclick = () => goTo(other);
    }
    if (ids.length > MAX_HITS) element('span', `and ${ids.length - MAX_HITS} more`, links);
  }
}

function search(text) {
  const wanted = text.trim().toLowerCase();
  let fits = (s) => s.includes(wanted), wrong = '';
  const pattern = /^\/(.+)\/$/.exec(text.trim());
  if (pattern !== null) {
    try {
      const expression = new RegExp(pattern[1], 'i');
      fits = (s) => expression.test(s);
    } catch (error) {
      fits = () => false;
      wrong = error.message;
    }
  }
  hits = [];
  if (wanted !== '') searched.forEach((s, i) => { if (fits(s)) hits.push(i); });
  hitSet = new Set(hits);
  hitAt = -1;
  byId('count').textContent = wrong || (wanted === '' ? '' : `${hits.length} found`);
  const list = byId('hits');
  list.replaceChildren();
  hits.slice(0, MAX_HITS).forEach((id, k) => {
    const b = boxes[id];
    const row = element('button', b.name ? `${b.name} = ${b.title}` : b.title, list);
    row.className = 'hit';
    row.onclick = () => showHit(k);
  });
  drawMap();
  redraw();
}

function showHit(k) {
  if (hits.length === 0) return;
  hitAt = (k + hits.length) % hits.length;
  [...byId('hits').children].forEach((row, i) => row.classList.toggle('now', i === hitAt));
  byId('count').textContent = `${hitAt + 1} of ${hits.length}`;
  goTo(hits[hitAt]);
}

// ---- What differs, and values ----

function step(by) {
  if (scale === null && window.picture?.onStep) return window.picture.onStep(by);
  if (stops.length === 0) return;
  stopAt = stopAt < 0 && by < 0 ? stops.length - 1 : (stopAt + by + stops.length) % stops.length;
  goTo(stops[stopAt]);
  sayStop();
}

function sayStop() {
  const value = scale !== null && stopAt >= 0 ? `: ${short(boxes[stops[stopAt]].values[scale.column])}` : '';
  const what = scale === null ? 'differ' : 'values, largest first';
  byId('stop').textContent = stopAt < 0 ? `${stops.length} ${what}` : `${stopAt + 1} of ${stops.length}${value}`;
}

function fillStops() {
  byId('stops').hidden = stops.length === 0 && scales.every((s) => s === null);
  byId('column').hidden = scales.every((s) => s === null);
  const option = (text, value) => { element('option', text, byId('column')).value = value; };
  option(data.marked ? 'Colour: what differs' : 'Colour: kind of call', -1);
  for (const s of scales) if (s !== null) option(`Colour: ${s.name}`, s.column);
  byId('column').value = scale === null ? -1 : scale.column;
  sayStop();
}

byId('previous').onclick = () => step(-1);
byId('next').onclick = () => step(1);
byId('column').onchange = (e) => {
  scale = scales[e.target.value] ?? null;
  findStops();
  sayStop();
  fillLegend();
  drawMap();
  redraw();
};

// ---- The mouse and the keys ----

// Returns the box at a place, or the frame whose header or, if it is folded, whose area is there.
function at(x, y, f) {
  const wx = (x - camera.x) / camera.scale, wy = (y - camera.y) / camera.scale;
  const covers = (r) => wx >= r.x && wx <= r.x + r.width && wy >= r.y && wy <= r.y + r.height;
  for (let r = Math.max(0, firstRow(f, wy) - 1); r < f.rows.length && f.y + f.rowY[r] <= wy; ++r) {
    for (const item of f.rows[r]) {
      if (item.kind === BOX && covers(boxes[item.index])) return {box: boxes[item.index]};
      if (item.kind !== FRAME || !covers(frames[item.index])) continue;
      const inner = frames[item.index];
      if (inner.folded || wy < inner.y + M.headerHeight) return {frame: inner};
      return at(x, y, inner);
    }
  }
  return {};
}

let drag = null;
canvas.onpointerdown = (e) => {
  drag = {x: e.offsetX, y: e.offsetY, cx: camera.x, cy: camera.y, moved: false};
  canvas.setPointerCapture(e.pointerId);
};
canvas.onpointermove = (e) => {
  if (drag === null) {
    const found = boxes.length > 0 ? at(e.offsetX, e.offsetY, frames[0]) : {};
    canvas.style.cursor = found.box || found.frame ? 'pointer' : 'grab';
    return;
  }
  const dx = e.offsetX - drag.x, dy = e.offsetY - drag.y;
  if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
  if (!drag.moved) return;
  camera.x = drag.cx + dx;
  camera.y = drag.cy + dy;
  redraw();
};
canvas.onpointerup = (e) => {
  const click = drag !== null && !drag.moved;
  drag = null;
  if (!click || boxes.length === 0) return;
  const found = at(e.offsetX, e.offsetY, frames[0]);
  if (found.frame && !isFixed(found.frame)) toggle(found.frame);
  else select(found.box ? found.box.id : -1);
};
canvas.addEventListener('wheel', (e) => {
  e.preventDefault();
  const pixels = e.deltaY * (e.deltaMode === 1 ? 16 : 1);
  zoomAt(e.offsetX, e.offsetY, Math.exp(-Math.max(-300, Math.min(300, pixels)) * 0.0018));
}, {passive: false});

function jump(e) {
  const [across, down] = mapScale(1);
  camera.x = room() / 2 - e.offsetX / across * camera.scale;
  camera.y = canvas.clientHeight / 2 - e.offsetY / down * camera.scale;
  redraw();
}
map.onpointerdown = (e) => { map.setPointerCapture(e.pointerId); jump(e); };
map.onpointermove = (e) => { if (e.buttons !== 0) jump(e); };

const zoomMiddle = (factor) => zoomAt(room() / 2, canvas.clientHeight / 2, factor);
byId('fit').onclick = fit;
byId('in').onclick = () => zoomMiddle(1.3);
byId('out').onclick = () => zoomMiddle(1 / 1.3);
byId('fold').onclick = () => { foldDeeper(0); select(-1); layOut(); openView(); redraw(); };
byId('unfold').onclick = () => { foldDeeper(Infinity); layOut(); openView(); redraw(); };
byId('search').oninput = (e) => search(e.target.value);
byId('search').onkeydown = (e) => {
  if (e.key === 'Enter') showHit(hitAt + (e.shiftKey ? -1 : 1));
  if (e.key === 'Escape') e.target.blur();
};
window.onkeydown = (e) => {
  if (e.target.tagName === 'INPUT' || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === '/') { e.preventDefault(); byId('search').focus(); }
  if (e.key === 'f') fit();
  if (e.key === '+' || e.key === '=') zoomMiddle(1.3);
  if (e.key === '-') zoomMiddle(1 / 1.3);
  if (e.key === 'n') step(1);
  if (e.key === 'p') step(-1);
};
// Within another page, this one may have no size at first.
let seen = canvas.clientWidth > 0;
window.onresize = () => {
  if (!seen && canvas.clientWidth > 0) {
    seen = true;
    openView();
  }
  drawMap();
  redraw();
};
dark.onchange = () => { chooseTheme(); fillLegend(); drawMap(); redraw(); };

function fillLegend() {
  byId('legend').replaceChildren();
  if (scale !== null) {
    element('span', `${short(scale.low)} `, byId('legend'));
    element('i', undefined, byId('legend')).className = 'range';
    byId('legend').lastChild.style.background = `linear-gradient(90deg, ${shade(0)}, ${shade(1)})`;
    element('span', ` ${short(scale.high)}`, byId('legend'));
    return;
  }
  for (const style of data.styles) {
    const entry = element('span', undefined, byId('legend'));
    entry.className = 'swatch';
    const color = element('i', undefined, entry);
    color.style.background = dark.matches ? style[3] : style[1];
    color.style.borderColor = style[2];
    element('span', style[0], entry);
  }
}

byId('title').textContent = data.title;
byId('size').textContent = `${boxes.length} nodes, ${data.arrows.length / 2} arrows, ${frames.length - 1} modules and bodies`;
if (frames.every(isFixed)) byId('fold').hidden = byId('unfold').hidden = true;
chooseTheme();
fillLegend();
foldAtFirst();
layOut();
openView();
fillStops();
// A comparison of two graphs or runs opens at the first difference.
if (scale === null) step(1);
draw();

// For tests, and for pair_page.js, which sets onDraw and onStep.
window.picture = {
  select, layOut, redraw, data, boxes, frames, camera, search, showHit, toggle, goTo, isOpen, step,
  selected: () => selected, hits: () => hits, stops: () => stops, colorOf, drawn: () => drawn, opened: performance.now(),
  timeDraw: () => { const start = performance.now(); draw(); return performance.now() - start; },
};
