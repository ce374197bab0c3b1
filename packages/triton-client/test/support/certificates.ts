import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate and its key: their files, and their PEM texts. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** Made in milliseconds. */
const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];

/** An authority of a test's own, by openssl. */
export class Authority {
  readonly folder: string;
  readonly certificate: Certificate;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'zerohop-certificates-'));
    const [certFile, keyFile] = [this.#file('ca.pem'), this.#file('ca.key')];
    const subject = ['-subj', '/CN=authority of a test'];
    this.#openssl('req', '-x509', ...EC_KEY, '-nodes', '-days', '2', ...subject, '-keyout', keyFile, '-out', certFile);
    this.certificate = this.#read(certFile, keyFile);
  }

  /** @param names - such as `DNS:triton.test` and `IP:127.0.0.1` */
  issue(name: string, names: readonly string[]): Certificate {
    const [certFile, keyFile, request, extensions] = ['pem', 'key', 'csr', 'ext'].map((end) =>
      this.#file(`${name}.${end}`),
    );
    if (certFile === undefined || keyFile === undefined || request === undefined || extensions === undefined)
      throw new Error();
    writeFileSync(extensions, `subjectAltName=${names.join(',')}`);
    this.#openssl('req', ...EC_KEY, '-nodes', '-subj', `/CN=${name}`, '-keyout', keyFile, '-out', request);
    const signed = ['-CA', this.certificate.certFile, '-CAkey', this.certificate.keyFile, '-CAcreateserial'];
    this.#openssl('x509', '-req', '-in', request, ...signed, '-days', '2', '-extfile', extensions, '-out', certFile);
    return this.#read(certFile, keyFile);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #file(name: string): string {
    return join(this.folder, name);
  }

  #read(certFile: string, keyFile: string): Certificate {
    return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  }

  #openssl(...args: string[]): void {
    execFileSync('openssl', args, { stdio: 'pipe' });
  }
}

/** An authority with a certificate for this host, and one for a client. */
export class Certificates {
  readonly authority: Certificate;
  readonly server: Certificate;
  readonly client: Certificate;
  readonly #issuer = new Authority();

  constructor() {
    this.authority = this.#issuer.certificate;
    this.server = this.#issuer.issue('server', ['DNS:localhost', 'IP:127.0.0.1']);
    this.client = this.#issuer.issue('client', ['DNS:client.test']);
  }

  remove(): void {
    this.#issuer.remove();
  }
}
