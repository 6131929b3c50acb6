// Small signs for buttons, drawn with lines in the colour of the text.
const sign = (path: string) => () => (
  <svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <path d={path} />
  </svg>
);
export const Play = sign("M5 3.5v9l7-4.5z");
export const Pause = sign("M5.5 3.5v9M10.5 3.5v9");
export const Back = sign("M10.5 3.5 6 8l4.5 4.5");
export const Forth = sign("M5.5 3.5 10 8l-4.5 4.5");
export const Plus = sign("M8 3v10M3 8h10");
export const Views = sign("M2.5 3h4.5v4.5H2.5zM9 3h4.5v4.5H9zM2.5 9.5h4.5V13H2.5zM9 9.5h4.5V13H9z");
export const Moon = sign("M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z");
export const Lock = sign("M4 7.5h8v5.5H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2");
export const Unlock = sign("M4 7.5h8v5.5H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 4.8-1");
export const Link = sign("M6.5 9.5l3-3M7 4.5l1-1a2.5 2.5 0 0 1 4 4l-1.5 1.5M9 11.5l-1 1a2.5 2.5 0 0 1-4-4L5.5 7");
export const Folder = sign("M2 4.5h4l1.5 1.5H14v7H2z");
