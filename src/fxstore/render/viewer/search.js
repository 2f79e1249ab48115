// Substring search over names, operators, modules and targets: each distinct text is looked at once per key stroke.

const FIELDS = ["name", "op_type", "module_path", "target"];

export class SearchIndex {
  /** @param {import("./scene.js").Scene} scene */
  constructor(scene) {
    this.scene = scene;
    this.columns = FIELDS.map((field) => scene.columns.get(`node.${field}`));
    /** @type {string[]|null} */
    this.lowered = null;
  }

  /**
   * @param {string} query
   * @returns {{nodes: number[], counts: number[]}} matching nodes in order, and how many there are in each pane
   */
  find(query) {
    const needle = query.trim().toLowerCase();
    const counts = this.scene.panes.map(() => 0);
    if (!needle) return { nodes: [], counts };
    const hits = this.hits(needle);
    const nodes = [];
    for (const pane of this.scene.panes) {
      for (let node = pane.first; node < pane.end; node++) {
        if (!this.matches(hits, node)) continue;
        nodes.push(node);
        counts[pane.number]++;
      }
    }
    return { nodes, counts };
  }

  hits(needle) {
    this.lowered ??= this.scene.strings.map((text) => text.toLowerCase());
    return Uint8Array.from(this.lowered, (text) => Number(text.includes(needle)));
  }

  matches(hits, node) {
    for (const column of this.columns) if (column[node] >= 0 && hits[column[node]]) return true;
    return false;
  }
}
