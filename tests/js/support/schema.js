/** The committed JSON schema of the protocol, as a check. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import Ajv from "ajv/dist/2020.js";

const document = JSON.parse(readFileSync(new URL("../../../docs/protocol/schema.json", import.meta.url), "utf8"));
const ajv = new Ajv({ strict: false });
ajv.addSchema(document, "protocol");

/**
 * Fails when a frame is none that this side writes.
 * @param {"server" | "client"} side
 * @param {{type: string}} frame
 */
export function check(side, frame) {
  const validate = ajv.getSchema(`protocol#/$defs/${side}.${frame.type}`);
  assert.ok(validate, `${side}.${frame.type} is not in the protocol`);
  assert.ok(validate(frame), `${side}.${frame.type}: ${ajv.errorsText(validate.errors?.slice(-3))}`);
}
