/** What is wrong with a configuration and where: a line and column of a text, or a path of names in JSON. */
export class ConfigError extends Error {
  constructor(where: string, message: string) {
    super(where === '' ? message : `${where}: ${message}`);
    this.name = 'ConfigError';
  }
}
