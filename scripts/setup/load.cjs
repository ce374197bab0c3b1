// On its own because an old Node does not parse `import()`.
module.exports = (command, args) => import('./main.mjs').then(({ main }) => main(command, args));
