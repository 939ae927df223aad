export { runDeviceClient, type DeviceClientOptions, type DeviceStatus } from './client.js';
export { loadClientConfig, type ClientConfig } from './config.js';
