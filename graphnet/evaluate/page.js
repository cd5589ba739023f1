// The report: tables of the data, one curve at a time, and a table of all samples of that curve,
// which can be filtered and sorted.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const MORE = 200;  // rows at a time

// Makes an element with a class and children or text.
function make(tag, style, ...children) {
  const element = document.createElement(tag);
  if (style) element.className = style;
  element.append(...children);
  return element;
}
const number = (value, digits = 4) => value === null ? '–' : value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) ? value.toExponential(2) : value.toFixed(digits);
const percent = (part, all) => all === 0 ? '–' : (100 * part / all).toFixed(1) + ' %';

function table(element, head, rows, textColumns) {
  const row = (cells, tag) => make('tr', '', ...cells.map((cell, i) => make(tag, textColumns.includes(i) ? 'text' : '', cell)));
  element.replaceChildren(make('thead', '', row(head, 'th')), make('tbody', '', ...rows.map((cells) => row(cells, 'td'))));
  return element;
}

function named(curve) {
  const swatch = make('span', 'swatch');
  swatch.style.background = curve.color;
  return make('span', '', swatch, curve.name);
}

const levelOf = (curve, t) => curve.levels.find((level) => level.t === t);

// ---- All curves ----

function showSummary() {
  byId('title').textContent = data.title;
  byId('sentences').replaceChildren(make('p', '', data.decision));
  byId('parameters').textContent = `p = ${data.p}, b = ${data.b}, interpretation ${data.interpretation}: ` +
      data.classes.map((c) => c.name + (c.threshold === null ? ' errors never forgiven' : ` errors forgiven from t = ${c.threshold} on`)).join(', ') +
      '. Bands and brackets: 95 % of the scores of samples drawn anew.';
  table(byId('summary'),
      ['curve', 'samples', 'correct at t = −5', 'at t = 0', 'at t = 1', 'ES(−5)', 'ES(0)', 'ES(1)', 'aggregated score', '95 %', 'compiler', 'device'],
      data.curves.map((c) => {
        const said = new Map(c.config);
        const correct = (t) => percent(levelOf(c, t).correct, c.samples.length);
        return [named(c), String(c.samples.length), correct(-5), correct(0), correct(1), number(levelOf(c, -5).es),
          number(levelOf(c, 0).es), number(levelOf(c, 1).es), number(c.aggregated[0]),
          `[${number(c.aggregated[1])}, ${number(c.aggregated[2])}]`, said.get('compiler') ?? '', said.get('hardware') || said.get('device') || ''];
      }), [0, 10, 11]);
}

// ---- One curve ----

let now = 0;

function showCurve() {
  const curve = data.curves[now];
  const parts = [make('h2', '', curve.name)];
  const said = curve.config.map(([key, value]) => `${key}: ${value}`);
  parts.push(make('div', 'dim', [`${curve.samples.length} samples of ${curve.file}`, ...said].join(' · ')));
  for (const note of curve.notes) parts.push(make('div', 'bad', note));
  parts.push(make('h2', '', 'Scores and their parameters'));
  if (curve.blind > 0) {
    const without = curve.sighted === null ? 'no sample is left without them' :
        `without them, the aggregated score is ${number(curve.sighted.aggregated)}`;
    parts.push(make('p', 'bad', `${curve.blind} of ${curve.samples.length} samples are blind: ` +
        `a wrong answer, such as zeros, would have passed at t = −5; ${without}.`));
  }
  if (curve.causes.length > 0) {
    const samples = curve.causes.reduce((sum, cause) => sum + cause[0], 0);
    parts.push(make('p', 'bad', `${samples} ${samples === 1 ? 'sample fails' : 'samples fail'} for ` +
        `${curve.causes.length} ${curve.causes.length === 1 ? 'cause' : 'causes'}:`));
    parts.push(make('div', 'wide', table(make('table'), ['samples', 'failure', 'operators', 'dtypes', 'test'],
        curve.causes.map((cause) => cause.map(String)), [])));
  }
  if (curve.derived !== undefined) {
    const d = curve.derived;
    const blind = d.blind === 0 ? '' : ` ${d.blind} of them prove nothing, as rounding is as large as their results, and do not count.`;
    parts.push(make('p', '', `ES(derived) is ${number(d.es)}: of ${d.judged} samples, the rounding of the sample itself ` +
        `says whether the result is right, and no failure is forgiven.${blind}`));
    if (d.changes.length > 0) {
      parts.push(make('div', 'wide', table(make('table'), ['otherwise than at t = −5', 'by rounding', 'why'],
          d.changes.map(([i, how, why]) => [curve.samples[i][0], how, why]), [])));
    }
  }
  const sighted = new Map((curve.sighted?.levels ?? []).map(([t, s, es]) => [t, [number(s), number(es)]]));
  const levels = table(make('table'),
      ['t', ...(curve.sighted === null ? [] : ['S without blind', 'ES without blind']), 'S(t)', '95 %', 'ES(t)', '95 %', 'correct', 'slower', 'α', 'β', 'λ', 'η', 'γ', 'S from these', 'ES from these'],
      curve.levels.map((l) => [String(l.t).replace('-', '−'), ...(sighted.get(l.t) ?? []), number(l.s), `[${number(l.s95[0])}, ${number(l.s95[1])}]`, number(l.es),
        `[${number(l.es95[0])}, ${number(l.es95[1])}]`, String(l.correct), String(l.slow), number(l.alpha, 3), number(l.beta, 3),
        number(l.lambda, 3), number(l.eta, 3), number(l.gamma, 3), number(l.macroS), number(l.macroES)]), []);
  parts.push(make('div', 'wide', levels));
  const shares = data.classes.map((c, i) => `π(${c.name}) = ${number(curve.shares[i], 3)}`).join(', ');
  parts.push(make('p', 'dim', `${curve.failed} of ${curve.samples.length} fail at t = 1: ${shares}. ` +
      'For t > 1, ES uses α, β, λ and η at t = 1 and γ at t.'));

  parts.push(make('h2', '', 'Failures at t = 1'));
  if (curve.failures.length === 0) parts.push(make('div', 'good', 'none'));
  for (const failure of curve.failures) {
    const details = make('details', '', make('summary', '', `${failure.outcome}: ${failure.samples} (${percent(failure.samples, curve.samples.length)})`));
    if (failure.reasons.length === 0) details.append(make('div', 'dim', 'The log gives no reasons.'));
    for (const [reason, times] of failure.reasons) details.append(make('pre', '', times > 1 ? `${times} ×  ${reason}` : reason));
    const show = make('button', 'more', 'Show these samples');
    show.onclick = () => {
      byId('outcome').value = failure.outcome;
      byId('filter').value = '';
      showRows();
      byId('filter').scrollIntoView({block: 'start'});
    };
    details.append(show);
    parts.push(details);
  }

  if (curve.movers.length > 0) {
    parts.push(make('h2', '', 'Samples that move the curve most'));
    parts.push(make('div', 'wide', table(make('table'), ['sample', 'speedup', 'at t = 1', 'change of the aggregated score'],
        curve.movers.map(([index, change]) => {
          const sample = curve.samples[index];
          return [sample[PATH], number(sample[SPEEDUP], 3), sample[OUTCOME], make('span', change < 0 ? 'bad' : 'good', (change < 0 ? '−' : '+') + number(Math.abs(change), 5))];
        }), [0, 2])));
  }
  byId('curve').replaceChildren(...parts);
  byId('outcome').replaceChildren(...['all outcomes', ...[...new Set(curve.samples.map((s) => s[OUTCOME]))].sort()].map((name) => make('option', '', name)));
  for (const [i, button] of [...byId('curves').children].entries()) button.setAttribute('aria-pressed', String(i === now));
  showRows();
}

function showCurves() {
  byId('curves').hidden = data.curves.length === 1;
  byId('curves').replaceChildren(...data.curves.map((curve, i) => {
    const button = make('button', '', named(curve));
    button.onclick = () => { now = i; showCurve(); };
    return button;
  }));
}

// ---- Samples ----

const PATH = 0, OUTCOME = 1, LEVEL = 2, SPEEDUP = 3, DIFF = 4, LINE = 5, REASON = 6;
const COLUMNS = [['sample', PATH], ['at t = 1', OUTCOME], ['correct from t', LEVEL], ['speedup', SPEEDUP], ['largest difference', DIFF], ['line', LINE], ['message', REASON]];
const TEXT = [PATH, OUTCOME, REASON];
let sorted = LINE, falling = false, shown = MORE;

// The key by which a row is sorted; "inf" and "nan" are above all numbers.
const keyOf = (row) => sorted === DIFF && typeof row[DIFF] === 'string' ? Infinity : row[sorted];

// Missing values come last in either direction.
function compare(a, b) {
  const x = keyOf(a), y = keyOf(b);
  if (x === y) return a[LINE] - b[LINE];
  if (x === null || x === '') return 1;
  if (y === null || y === '') return -1;
  return (x < y) === falling ? 1 : -1;
}

function matching() {
  const words = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const outcome = byId('outcome').selectedIndex > 0 ? byId('outcome').value : '';
  return data.curves[now].samples.filter((s) => {
    if (outcome !== '' && s[OUTCOME] !== outcome) return false;
    if (words.length === 0) return true;
    const text = `${s[PATH]} ${s[REASON]}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }).sort(compare);
}

function showRows(keep) {
  if (!keep) shown = MORE;
  const found = matching();
  const head = make('tr', '', ...COLUMNS.map(([name, column]) => {
    const button = make('button', '', name + (column === sorted ? (falling ? ' ▼' : ' ▲') : ''));
    button.onclick = () => {
      falling = column === sorted ? !falling : false;
      sorted = column;
      showRows();
    };
    const cell = make('th', TEXT.includes(column) ? 'text' : '', button);
    cell.setAttribute('aria-sort', column === sorted ? (falling ? 'descending' : 'ascending') : 'none');
    return cell;
  }));
  const rows = found.slice(0, shown).map((s) => make('tr', '',
      make('td', 'text', s[PATH]), make('td', 'text ' + (s[OUTCOME] === 'correct' ? 'good' : 'bad'), s[OUTCOME]),
      make('td', '', s[LEVEL] === null ? '–' : String(s[LEVEL]).replace('-', '−')), make('td', '', number(s[SPEEDUP], 3)),
      make('td', '', s[DIFF] === null ? '–' : Number(s[DIFF]) === 0 ? '0' : typeof s[DIFF] === 'number' ? s[DIFF].toExponential(2) : s[DIFF]),
      make('td', '', String(s[LINE])), make('td', 'text', s[REASON])));
  byId('rows').replaceChildren(make('thead', '', head), make('tbody', '', ...rows));
  byId('count').textContent = `${found.length} of ${data.curves[now].samples.length}`;
  byId('more').hidden = found.length <= shown;
  byId('more').textContent = `Show more (${found.length - shown})`;
}

byId('filter').oninput = () => showRows();
byId('outcome').onchange = () => showRows();
byId('more').onclick = () => { shown += 5 * MORE; showRows(true); };
addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== byId('filter')) {
    event.preventDefault();
    byId('filter').focus();
  }
});

showSummary();
showCurves();
showCurve();
