// A canvas as large as its panel, sharp on every screen, and the colours of the page for it.
import type { PanelContext } from "./panel";

export function canvasOf(ctx: PanelContext): { canvas: HTMLCanvasElement; pen: CanvasRenderingContext2D; fit: () => { width: number; height: number } } {
  const canvas = document.createElement("canvas");
  ctx.root.append(canvas);
  const pen = canvas.getContext("2d")!;
  const fit = () => {
    const { width, height } = ctx.size.peek();
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { width, height };
  };
  return { canvas, pen, fit };
}

const cache = new Map<string, string>();
export function colour(name: string): string {
  let value = cache.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    cache.set(name, value);
  }
  return value;
}
export const coloursChanged = () => cache.clear();
// "#rrggbb" with an opacity
export const faded = (hex: string, alpha: number) => `${hex}${Math.round(alpha * 255).toString(16).padStart(2, "0")}`;
export const teamColour = (team: number | undefined) => colour(team === 1 ? "blue" : team === 0 ? "red" : "accent");
