// Connects with a Redis. The environment has its URL, if it was there already: the arguments of a process are for all to
// see. Where it is, is an argument.
import Redis from "ioredis";

/** A client for each node. */
export function connect(settings) {
  const given = process.env.FENCELAB_REDIS_URL;
  const url = given ? new URL(given) : { username: "", password: "", protocol: "redis:", search: "" };
  const tls = url.protocol === "rediss:" ? { tls: { rejectUnauthorized: !url.search.includes("skip_verify=true") } } : {};
  return settings.addresses().map((address) => {
    const [, host, port] = address.match(/^(.*):(\d+)$/);
    const client = new Redis({
      host, port: Number(port), username: url.username || undefined, password: decodeURIComponent(url.password) || undefined, ...tls,
      commandTimeout: settings.timeout, connectTimeout: settings.timeout,
    });
    return client.on("error", () => {}); // each command says so, too
  });
}

/** The key that gcsim's account reads. */
export const keyOf = (lock) => `lock:{${lock.replaceAll("%", "%25").replaceAll("{", "%7B").replaceAll("}", "%7D")}}`;
