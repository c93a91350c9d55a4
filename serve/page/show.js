// Numbers as words, elements, and rows by what they were asked for.
import { texts } from './texts.js';

export const fill = (text, values) =>
    text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all));
export const number = (x, digits = 3) =>
    Number(x.toPrecision(digits)).toLocaleString('en', { maximumSignificantDigits: digits });
export function seconds(s) {
    if (!(s >= 1e-9)) return '0 s'; // less is rounding
    return s >= 1
        ? `${number(s)} s`
        : s >= 1e-3
          ? `${number(s * 1e3)} ms`
          : `${number(s * 1e6)} µs`;
}
export const bytes = (b) =>
    b >= 1e9
        ? `${number(b / 1e9)} GB`
        : b >= 1e6
          ? `${number(b / 1e6)} MB`
          : `${number(b / 1e3)} KB`;
export const rate = (mbps) =>
    mbps >= 1000
        ? `${number(mbps / 1000)} Gbps`
        : mbps >= 1
          ? `${number(mbps)} Mbps`
          : `${number(mbps * 1000)} kbps`;

// An element; attributes, then what is in it. No HTML is ever read from a text.
export function make(name, attributes = {}, ...inside) {
    const svg = ['svg', 'rect', 'circle', 'line', 'text', 'g', 'title', 'path'].includes(name);
    const element = svg
        ? document.createElementNS('http://www.w3.org/2000/svg', name)
        : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
        else if (value !== false && value !== null)
            element.setAttribute(key, value === true ? '' : value);
    }
    element.append(...inside);
    return element;
}
export const byId = (id) => document.getElementById(id);

export const isPlain = (row) => row.codec.name === 'none' && row.download_codec.name === 'none';
const place = (row) => {
    const labels = { ...row.labels };
    delete labels['/codec'];
    return JSON.stringify(labels);
};
// Pairs of a row and its uncompressed counterpart, in the order of the sweep. Where the codec itself
// is varied, all have the same counterpart.
export function pairs(rows) {
    const plain = new Map(rows.filter(isPlain).map((row) => [place(row), row]));
    const asked = rows.filter((row) => !row.reference);
    return asked.map((row) => ({
        row,
        plain: plain.get(place(row)) || (plain.size === 1 ? [...plain.values()][0] : null),
    }));
}
export function codecName(row, withBound = true) {
    if (isPlain(row)) return texts.plain;
    const bound =
        withBound && row.codec.bound ? ` ${number(Object.values(row.codec.bound)[0], 2)}` : '';
    return row.codec.name + bound + (row.codec.profile ? ` [${row.codec.profile}]` : '');
}
