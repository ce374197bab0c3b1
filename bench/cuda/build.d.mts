export function buildPeer(): string;
