// What opencode does with its plugin: node opencode.mjs PLUGIN FOLDER, with [hook, input, output] as a line each.
import { readFileSync } from "node:fs"

const [plugin, directory] = process.argv.slice(2)
const hooks = await (await import(plugin)).Liza({ directory })
for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const [name, input, output] = JSON.parse(line)
  try {
    await hooks[name](input, output)
    console.log(JSON.stringify({ output }))
  } catch (error) {
    console.log(JSON.stringify({ refused: error.message }))
  }
}
