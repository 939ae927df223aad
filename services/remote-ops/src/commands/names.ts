import { DEVICE_NAME_PATTERN } from '@cortex/contracts/device-wire';
import { z } from 'zod';

export const DeviceName = z
  .string()
  .regex(DEVICE_NAME_PATTERN, 'is no machine name; use 1 to 64 of A-Z a-z 0-9 . _ : -')
  .describe('Name of the machine');
