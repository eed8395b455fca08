export function comparePage(data, main) { return []; }
