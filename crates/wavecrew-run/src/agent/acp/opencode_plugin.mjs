// For opencode, which tells over the protocol neither the status that a service failed with nor what each request used:
// hands both on, as a notification of ours on the line that the protocol has.
const tells = ({ type, properties }) =>
  type === "session.error" ||
  (type === "session.status" && properties.status.type === "retry") ||
  (type === "message.part.updated" && properties.part.type === "step-finish")

export const Wavecrew = async () => ({
  event: async ({ event }) => {
    if (!tells(event)) return
    const { type, properties } = event
    const message = { jsonrpc: "2.0", method: "_wavecrew/opencode", params: { type, properties } }
    process.stdout.write(JSON.stringify(message) + "\n")
  },
})
