/** Returns the texts of the page in the browser whose contrast is below 4.5, or below 3 if they are large. */
export function lowContrast() {
  const parse = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
    return { red, green, blue, alpha };
  };
  const over = (front, back) => {
    const mix = (a, b) => a * front.alpha + b * (1 - front.alpha);
    return { red: mix(front.red, back.red), green: mix(front.green, back.green), blue: mix(front.blue, back.blue), alpha: 1 };
  };
  const luminance = ({ red, green, blue }) => {
    const [r, g, b] = [red, green, blue].map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    const layers = [];
    for (let node = element; node; node = node.parentElement) layers.push(parse(getComputedStyle(node).backgroundColor));
    const page = getComputedStyle(document.documentElement).colorScheme.includes("dark") ? { red: 0, green: 0, blue: 0, alpha: 1 } : { red: 255, green: 255, blue: 255, alpha: 1 };
    return layers.reverse().reduce((back, layer) => over(layer, back), page);
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const element = text.parentElement;
    const style = getComputedStyle(element);
    if (!text.data.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || box.right < 0 || style.webkitTextFillColor === "rgba(0, 0, 0, 0)") continue;
    const back = background(element);
    const [light, dark] = [luminance(over(parse(style.color), back)), luminance(back)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      found.set(`${element.className} ${style.color}`, `"${text.data.trim().slice(0, 30)}" (${element.tagName} ${element.className}) has a contrast of ${ratio.toFixed(2)}`);
    }
  }
  return [...found.values()];
}
