import { wholeRegistry } from '@cortex/testing';
import { tools } from './registry.js';

wholeRegistry(tools, import.meta.url);
