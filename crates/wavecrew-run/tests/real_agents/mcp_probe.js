// A stdio MCP server with one tool, `report`. Appends each call, with the secret it was given, to the file it is told.
const { appendFileSync } = require("node:fs");
const { createInterface } = require("node:readline");

const tool = {
  name: "report",
  description: "Reports a status",
  inputSchema: { type: "object", properties: { status: { type: "string" } }, required: ["status"] },
};

function result({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "probe", version: "1" },
      };
    case "tools/list":
      return { tools: [tool] };
    case "tools/call":
      appendFileSync(process.argv[2], `${params.arguments.status} ${process.env.PROBE_SECRET}\n`);
      return { content: [{ type: "text", text: "noted" }] };
    case "ping":
      return {};
    default:
      return undefined;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  if (request.id === undefined) return;
  const answer = result(request);
  const body = answer ? { result: answer } : { error: { code: -32601, message: "unknown method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id: request.id, ...body }));
});
