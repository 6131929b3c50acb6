// The three-dimensional view. Its code is large, so it is loaded when the panel is opened.
import { firstPicture } from "../data/clock";
import { panel } from "../ui/panel";

panel({
  id: "scene",
  title: "3-D",
  about: "robots, field and ball in three dimensions",
  group: "match",
  mount: async (ctx) => {
    await firstPicture();
    const { mount } = await import("../scene/scene");
    mount(ctx);
  },
});
