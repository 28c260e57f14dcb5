#!/usr/bin/env node
import { simCommand } from "../dist/simulator/command.js";

process.exitCode = await simCommand(process.argv.slice(2));
