/** Through which front end a request came: where a real server's two have words of their own. */
export type Protocol = 'grpc' | 'http';
