/* What the reader has chosen, kept in the address after "#", so that a link leads back to it. */

/** Holds texts by key; a key that is not set has the value that `defaults` gives, or an empty text. */
class PageState {
  /** @param {object} defaults - Texts by key; they are not written into the address. */
  constructor(defaults) {
    this.defaults = defaults;
    this.chosen = new Map();
    this.listeners = [];
  }

  /** Return the text of a key. */
  get(key) {
    return this.chosen.get(key) ?? this.defaults[key] ?? "";
  }

  /** Return the whole numbers of a key, which are joined with dashes: "3-7". */
  numbers(key) {
    const text = this.get(key);
    return text === "" ? [] : text.split("-").map(Number).filter(Number.isInteger);
  }

  /**
   * Change keys and tell the listeners. `null` forgets a key.
   * @param {object} changes - Texts, numbers or null by key.
   * @param {boolean} step - Whether the button "back" of the browser leads to the state before.
   */
  set(changes, step = false) {
    const changed = new Set();
    for (const [key, value] of Object.entries(changes)) {
      const text = value === null ? (this.defaults[key] ?? "") : String(value);
      if (text === this.get(key)) continue;
      changed.add(key);
      if (text === (this.defaults[key] ?? "")) this.chosen.delete(key);
      else this.chosen.set(key, text);
    }
    if (changed.size === 0) return;
    this.write(step);
    this.tell(changed);
  }

  /** Return the state as the part of an address after "#", with some keys changed. */
  fragment(changes = {}) {
    const all = new Map(this.chosen);
    for (const [key, value] of Object.entries(changes)) {
      const text = value === null ? "" : String(value);
      if (value === null || text === (this.defaults[key] ?? "")) all.delete(key);
      else all.set(key, text);
    }
    return `#${new URLSearchParams([...all]).toString()}`;
  }

  /** Take over the address of the page, for instance after the button "back". */
  read() {
    this.take(location.hash);
  }

  /** Follow a link of the page. In a frame of a notebook, the browser would look for it in the notebook. */
  follow(fragment) {
    const before = this.chosen;
    this.chosen = new Map(new URLSearchParams(fragment.slice(1)));
    this.write(true);
    this.chosen = before;
    this.take(fragment);
  }

  /** Take over a state as it is written after "#". */
  take(fragment) {
    const found = new Map(new URLSearchParams(fragment.slice(1)));
    const keys = new Set([...found.keys(), ...this.chosen.keys()]);
    const changed = new Set([...keys].filter((key) => found.get(key) !== this.chosen.get(key)));
    this.chosen = found;
    if (changed.size) this.tell(changed);
  }

  /** Write the state into the address. */
  write(step) {
    try {
      history[step ? "pushState" : "replaceState"](null, "", this.fragment());
    } catch {
      // A page inside a frame of a notebook has no address of its own; its state is not kept then.
    }
  }

  /** Call every listener with the set of changed keys. */
  tell(changed) {
    for (const listener of this.listeners) listener(changed);
  }
}
