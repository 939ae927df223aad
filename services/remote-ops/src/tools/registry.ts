import type { Tool } from '@cortex/service-kit';
import { remoteBash } from './remote-bash.tool.js';
import { remoteEdit } from './remote-edit.tool.js';
import { remoteGlob } from './remote-glob.tool.js';
import { remoteGrep } from './remote-grep.tool.js';
import { remoteRead } from './remote-read.tool.js';
import { remoteWrite } from './remote-write.tool.js';

/** In this order they are listed; the first one's description names the machines. */
export const tools: readonly Tool[] = [remoteBash, remoteRead, remoteWrite, remoteEdit, remoteGlob, remoteGrep];
