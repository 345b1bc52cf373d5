// What the model can look for: the smallest story that does harm, and which of the next steps lead to harm.

import { $, element, keyed, say, tell, text } from "./dom.js";
import { answers } from "./answers.js";
import { usable } from "./page.js";

const many = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");

// search makes what looks for stories from a page's place: driver.place() has its world, path and name.
export function search(driver) {
  const model = answers();
  let marking = false; // choices are marked
  let looks; // what is looked for now; undefined: nothing

  // ask asks for what goes on from the place, and has the page say how far that is.
  async function ask(asks, words) {
    quit();
    const mine = (looks = { steps: 0 });
    $("halt").hidden = false;
    text($("progress"), words);
    try {
      return await model.ask({ asks, ...driver.place() }, (states, steps) => {
        mine.steps = steps;
        text($("progress"), words + " " + many(states, "state") + " so far.");
      });
    } catch (e) {
      if (!e.stopped) throw e;
      const known = asks === "harm" && mine.steps > 0; // the other search is of one next step after the other
      if (mine === looks) text($("found"), "The search was stopped." + (known ? " No story of up to " + many(mine.steps, "step") + " from here does harm." : ""));
    } finally {
      if (mine === looks) {
        looks = undefined;
        $("halt").hidden = true;
        text($("progress"), "");
      }
    }
  }

  // quit ends what is looked for, and says nothing of it.
  function quit() {
    looks = undefined;
    model.stop();
    $("halt").hidden = true;
    text($("progress"), "");
    text($("found"), "");
  }

  async function find() {
    const { path, name } = driver.place();
    const way = await ask("harm", "All stories are told, the shortest first.");
    if (!way) return;
    if (!way.path.length) return text($("found"), none(way, name));
    await driver.follow(way.path);
    const more = way.path.length - path.length;
    text($("found"), "This story does harm in " + many(more, "step") + ". No story from " + (path.length ? "there" : "the beginning") + " needs fewer.");
  }

  async function mark() {
    const { path } = driver.place();
    const ways = await ask("leads", "Each next step is looked at.");
    if (!ways) return;
    const marks = new Map(ways.map((way) => [way.step, words(way, path.length)]));
    driver.mark(marks);
    showNext(ways, marks, path.length);
  }

  const refresh = () => {
    $("marks").setAttribute("aria-pressed", String(marking));
    $("legend").hidden = !marking;
    if (!marking) {
      driver.mark(undefined);
      $("nexts").open = false;
      return quit();
    }
    return tell($("search-trouble"), mark);
  };
  $("find").addEventListener("click", (e) => usable(e) && tell($("search-trouble"), find));
  $("halt").addEventListener("click", () => model.stop());
  $("marks").addEventListener("click", () => {
    marking = !marking;
    refresh();
  });
  $("nexts").addEventListener("toggle", () => {
    if (!$("nexts").open || marking) return;
    marking = true;
    refresh();
  });
  $("coming").addEventListener("click", (e) => {
    const step = e.target.closest("button")?.dataset.step;
    if (step && usable(e)) tell($("search-trouble"), () => driver.step(step));
  });

  return {
    // moved hears that the person stands elsewhere.
    moved() {
      quit();
      say($("search-trouble"), "");
      if (marking) refresh();
    },
  };
}

// none says that no story was found that does harm, and how far the search came.
function none(way, name) {
  if (way.whole) return "No story that goes on from here does harm, however long it is.";
  const upTo = "No story of up to " + many(way.depth, "step") + " from here does harm.";
  return upTo + (way.full ? " Then the memory of this page was full." : " Longer ones were not told.") + " gcsim explore " + name + " looks further.";
}

// words say where a next step can lead to, after so many steps.
function words(way, steps) {
  const more = way.path.length - steps;
  if (more === 1) return { text: "does harm", tone: "bad" };
  if (more > 1) return { text: "harm in " + more, tone: "bad" };
  return way.whole ? { text: "never harm", tone: "good" } : { text: "none in " + (way.depth + 1), tone: "" };
}

function showNext(ways, marks, steps) {
  const far = (way) => (way.path.length ? way.path.length - steps : Infinity);
  const list = [...ways].sort((a, b) => far(a) - far(b));
  keyed($("coming"), list, (way) => way.step, () => element("li", {}, element("button", { type: "button" }), " ", element("span")), (e, way) => {
    const [button, said] = e.children;
    button.dataset.step = way.step;
    text(button, way.step);
    text(said, marks.get(way.step).text);
    said.className = marks.get(way.step).tone;
  });
}
