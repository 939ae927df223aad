import { Link } from './link.js';

/*
 * A door at the loopback address of another network namespace: `<port here> <host> <port>`. Ends with the process that started it.
 */
const [port, host = '', target] = process.argv.slice(2);
await Link.to({ host, port: Number(target) }, { port: Number(port) });
process.on('disconnect', () => process.exit(0));
process.send?.('open');
