export default { test: { coverage: { exclude: ["src/generated.ts"] } } };
