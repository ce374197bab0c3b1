// Entry of `npm run demo`, `npm test`, `npm run triton` and `npm run setup`. Parses on any Node there is, so that an old one can be told
// which version is needed: ES5 only (no comma after a last argument either), and nothing newer is loaded before the check.
'use strict';

function isSupported(version) {
  var parts = version.split('.');
  var major = Number(parts[0]);
  var minor = Number(parts[1]);
  return (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 23;
}

function refuse() {
  console.error('Zerohop needs Node 20.19, 22.12 or newer; this is', process.version, 'at', process.execPath);
  console.error('Install one: "nvm install 22" where nvm is, or the archive from https://nodejs.org/en/download');
  process.exit(3);
}

var folder = __dirname.replace(/\/scripts$/, '');

// The path of this clone is handed to shells, make, loaders and globs, some of which know no way to quote these.
var UNUSABLE = /[^ -\uffff]|["$`\\:;*?]/;

function refuseFolder() {
  console.error('Zerohop can be built in no folder whose path has any of " $ ` \\ : ; * ? or a line break:', folder);
  console.error('Move the clone to another one, or rename it.');
  process.exit(3);
}

if (!isSupported(process.versions.node)) {
  refuse();
} else if (UNUSABLE.test(folder)) {
  refuseFolder();
} else {
  require('./setup/load.cjs')(process.argv[2], process.argv.slice(3));
}
