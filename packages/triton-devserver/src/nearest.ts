/** The one of the known names that `name` was most likely meant to be: at most a third of it is written otherwise. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((each) => ({ each, edits: edits(name.toLowerCase(), each.toLowerCase()) }))
    .sort((one, other) => one.edits - other.edits);
  const [best] = ranked;
  return best !== undefined && best.edits <= name.length / 3 ? best.each : undefined;
}

/** How many letters have to be put in, left out, changed, or swapped with the next to make one text of the other. */
function edits(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column += 1) {
      const [letter, before] = [from[row - 1], from[row - 2]];
      const swapped = letter === to[column - 2] && before === to[column - 1];
      const fewest = Math.min(
        at(row - 1, column - 1) + (letter === to[column - 1] ? 0 : 1),
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      rows[row]?.push(fewest);
    }
  }
  return at(from.length, to.length);
}
