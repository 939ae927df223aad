import { Sealer } from '@cortex/auth';
import type { ServiceHost } from '@cortex/service-kit';
import type { FastifyInstance } from 'fastify';
import { createAuthenticator } from './auth/authenticator.js';
import { Challenges } from './auth/challenge.js';
import type { People } from './auth/people.js';
import { Idempotency } from './calls/idempotency.js';
import { KeptMedia } from './calls/kept-media.js';
import { LocalTools } from './calls/local-tools.js';
import { modeReader } from './calls/mode-reader.js';
import { Records } from './calls/records.js';
import { CallPipeline } from './calls/run-call.js';
import { Catalog } from './catalog/catalog.js';
import { PreparedLists } from './catalog/lists.js';
import type { EdgeEnvironment } from './config.js';
import { addExplainRoute } from './explain/route.js';
import { BackendEvents } from './federation/events.js';
import { nameClaims } from './federation/claims.js';
import { Federation } from './federation/federation.js';
import { baselineFileOf } from './federation/integrity/baseline-file.js';
import { DefinitionStore } from './federation/integrity/definition-store.js';
import { IntegrityDesk } from './federation/integrity/desk.js';
import { toolDigest } from './federation/integrity/fingerprint.js';
import { Integrity, TAG } from './federation/integrity/integrity.js';
import { addIntegrityRoutes } from './federation/integrity/routes.js';
import { HeldToSchemas } from './federation/schemas/held-to.js';
import { offeredScopes } from './federation/offered-scopes.js';
import { machineIdentityOf } from './federation/machine-identity.js';
import { readSchemas } from './federation/schemas/read-schemas.js';
import { Validator } from './federation/schemas/validator.js';
import { type ConfirmationPort, nobodyReachable } from './guard/confirmation.js';
import { managedPolicy } from './guard/managed-policy.js';
import { HINT, LiveViews } from './guard/live-views.js';
import { addTicketRoutes } from './gaps/routes.js';
import { AdminRoutes } from './http/admin.js';
import { createHttpFront } from './http/front.js';
import { PurgeRoute } from './http/purge-route.js';
import { serverInfo } from './http/server-card.js';
import { createLegacy } from './legacy/legacy.js';
import { Answers } from './mcp/answer.js';
import { FastLane } from './mcp/fast-lane.js';
import { instructionsText } from './mcp/instructions.js';
import { LongAnswers } from './mcp/long-answers.js';
import { McpRoute } from './mcp/mcp.route.js';
import { renderResult } from './mcp/render.js';
import { SdkLane } from './mcp/sdk-lane.js';
import { architectureResource } from './methods/architecture.js';
import { Methods } from './methods/methods.js';
import { RoundTrips } from './methods/round-trips.js';
import { EdgeMetrics } from './metrics.js';
import { RateLimiter } from './ratelimit/rate-limiter.js';
import { definitions as definitionHistory } from './projections/definitions.projection.js';
import type { Authenticator, EdgeCore, EdgeLog, LegacyLayer } from './seams.js';
import { type Settings, settingsOf, startWarnings } from './settings.js';
import { WebhookListener } from './webhooks/listener.js';
import { WebhookAuthenticator } from './webhooks/webhook-authenticator.js';

const DRAIN_MS = 20_000;
const LOOK_MS = 20;

/** Everything of the edge, put together once per process; the parts know each other only through what they are given here. */
export class Edge {
  readonly settings: Settings;
  readonly views: LiveViews;
  readonly catalog: Catalog;
  readonly federation: Federation;
  readonly integrity: Integrity;
  /** Where operators look at definitions and decide about them. */
  readonly desk: IntegrityDesk;
  readonly methods: Methods;
  readonly route: McpRoute;
  readonly webhooks: WebhookListener;
  readonly pipeline: CallPipeline;
  readonly long: LongAnswers;
  readonly records: Records;
  /** Where the parts of the edge put what operators ask of them. */
  readonly admin: AdminRoutes;
  /** Replaceable until the interactions of the session service are there. */
  readonly confirmation: { port: ConfirmationPort } = { port: nobodyReachable };
  readonly authenticator: Authenticator;
  readonly #legacy: LegacyLayer;
  readonly #sdk: SdkLane;
  readonly #metrics: EdgeMetrics;
  readonly #lists: PreparedLists;
  /** Its thread begins with the first check. */
  readonly #validator = new Validator();
  readonly #cleanups: (() => void)[] = [];

  constructor(
    private readonly host: ServiceHost,
    people: People,
  ) {
    const { bus } = host;
    const log = edgeLog(host);
    const tell = (level: 'debug' | 'info' | 'warn' | 'error', text: string, fields: object = {}): void =>
      log[level](fields, text);
    const { secrets } = host;
    const kept = secrets && {
      auditHashKey: secrets.audit_hash_key,
      stateKey: secrets.state_key,
      webhookToken: secrets.webhook_token,
      adminSecret: secrets.admin_secret,
      cronSecret: secrets.cron_secret,
    };
    const extras = { version: host.version, ...kept };
    const settings = (this.settings = settingsOf(host.config as EdgeEnvironment, extras));
    const metrics = (this.#metrics = new EdgeMetrics(host.metrics));
    this.views = new LiveViews({ bus, pool: host.pool, managed: managedPolicy(settings.CORTEX_MANAGED_POLICY), log });
    const { backends, skipped, warnings } = settings.federation;
    for (const sentence of skipped) log.error({}, sentence);
    for (const sentence of [...warnings, ...startWarnings(settings)]) log.warn({}, sentence);
    const own = host.definition.tools;
    const sealer = new Sealer(settings.stateKey, settings.CORTEX_STATE_KEYS_OLD);
    const roundTrips = new RoundTrips(sealer, settings.CORTEX_STATE_TTL_SECONDS, log);
    const catalog = (this.catalog = new Catalog(own, log, backends.length > 0));
    const definitions = new DefinitionStore(bus, host.pool);
    const file = baselineFileOf(settings, log, TAG);
    const integrity: Integrity = (this.integrity = new Integrity({
      store: host.store,
      keys: settings.baselineKeys,
      mode: settings.CORTEX_TOOL_INTEGRITY_MODE,
      order: settings.CORTEX_TOOL_INTEGRITY_ORDER,
      everyMs: settings.CORTEX_REFRESH_INTERVAL_MS,
      witness: async (backend) => [...(await definitions.testimonies(backend)), ...(file?.testimonies(backend) ?? [])],
      fault: () => file?.fault,
      changed: () => file?.save(integrity.states),
      log,
    }));
    const schemas = new HeldToSchemas({
      validator: this.#validator,
      results: settings.CORTEX_VALIDATE_RESULTS,
      arguments: settings.CORTEX_VALIDATE_ARGUMENTS,
      log,
      onMismatch: (backend) => metrics.resultMismatches.inc({ backend }),
    });
    const federation = (this.federation = new Federation({
      backends,
      settings,
      catalog,
      metrics,
      builtins: new Set(own.filter(({ announced }) => announced.builtin).map(({ name }) => name)),
      log,
      review: integrity.review,
      settled: () => integrity.settled,
      digestOf: toolDigest,
      readSchemas,
      schemas,
      roundTrips,
      claims: nameClaims(bus, backends, settings.CORTEX_TOOL_NAME_MAX, log),
      machine: machineIdentityOf(settings, log),
    }));
    const { name, version } = serverInfo(settings);
    const identity = JSON.stringify({ name, version });
    const lists = (this.#lists = new PreparedLists(catalog, identity, {
      defaults: { fallback: settings.CORTEX_SCHEMA_PROFILE, rules: settings.CORTEX_SCHEMA_PROFILE_RULES },
      log,
    }));

    const records = (this.records = new Records({
      bus,
      log,
      metrics,
      auditHashKey: settings.auditHashKey,
      replica: bus.instance,
      catalogVersion: () => catalog.version,
      lines: host.lines,
    }));
    const authenticator = (this.authenticator = createAuthenticator({
      settings,
      people,
      bus,
      views: this.views,
      log: tell,
      onSkew: () => metrics.tokenSkew.inc(),
      onStaleKeys: (stale) => metrics.jwksStale.set(stale ? 1 : 0),
    }));
    const front = createHttpFront({ settings, scopes: offeredScopes(catalog, federation), log: tell });
    this.admin = new AdminRoutes({
      secret: settings.adminSecret,
      maxBytes: settings.CORTEX_MAX_BODY_BYTES,
      failuresPerMinute: settings.CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE,
      clientIp: (req) => front.clientIp(req),
      log,
    });
    this.desk = new IntegrityDesk({
      integrity,
      federation,
      definitions,
      file,
      hint: settings.CORTEX_BASELINE_PUBLIC_KEY_HINT,
      log,
    });
    addIntegrityRoutes(this.admin, this.desk);
    addTicketRoutes(this.admin, bus);
    const limiter = new RateLimiter({
      bus,
      log,
      perMinute: settings.CORTEX_RATE_LIMIT_PER_MINUTE,
      disabled: settings.RATE_LIMIT_DISABLED,
      onLimited: () => metrics.rateLimited.inc(),
      onLocal: () => metrics.rateLimitLocal.inc(),
    });
    const answers = new Answers(settings, front);
    const modes = modeReader(this.views);
    const confirmation: ConfirmationPort = { ask: (request) => this.confirmation.port.ask(request) };
    const media = new KeptMedia({ bus, sealer, inlineBytes: settings.CORTEX_INLINE_MEDIA_BYTES, log });
    const methods = (this.methods = new Methods({
      media,
      federation,
      own: [architectureResource({ settings, catalog, federation })],
      roundTrips,
      sealer,
      pageSize: settings.CORTEX_LIST_PAGE_SIZE,
      scopeStatus: settings.CORTEX_SCOPE_CHALLENGE === 'http' ? 403 : 200,
      log,
    }));
    const pipeline = (this.pipeline = new CallPipeline({
      bus,
      log,
      tracer: host.tracer,
      metrics,
      records,
      world: { settings, catalog, federation, views: this.views, confirmation },
      idempotency: new Idempotency(bus, sealer, log),
      media,
      local: new LocalTools(host, { catalog, modes, federation, methods, lists, instances: catalog.instances }),
      federation,
    }));
    addExplainRoute(
      this.admin,
      { settings, catalog, federation, views: this.views, authenticator, people, limiter },
      records,
    );
    const { runCall } = pipeline;
    const recordRequest: EdgeCore['recordRequest'] = (exchange, note) => records.request(exchange, note);
    const core: EdgeCore = {
      runCall,
      methods,
      offers: federation,
      listTools: (caller, revision, options) => lists.get(caller, revision, options),
      renderResult: (outcome, revision) => renderResult(outcome, revision, identity),
      catalog,
      recordRequest,
      answer: answers,
      takePermit: (caller) => limiter.take(caller),
      instructions: () => instructionsText(name, catalog, federation),
    };
    const shared = { catalog, lists, runCall, methods, answers, authenticator, recordRequest };
    const long = (this.long = new LongAnswers(answers, settings.CORTEX_SSE_KEEPALIVE_MS));
    const sdk = (this.#sdk = new SdkLane({ ...shared, federation, settings, metrics, log }));
    const legacy = (this.#legacy = createLegacy({
      core,
      settings,
      bus,
      metrics,
      // Before the instances have been told once, none of them is known.
      lives: (instance) => !catalog.complete || catalog.instances.lives(`mcp-edge.${instance}`),
      log: tell,
      scopeChallenge: (req, required) => authenticator.scopeChallenge(req, required),
    }));
    this.route = new McpRoute({
      settings,
      door: { front, authenticator, limiter, settings, challenges: new Challenges(settings) },
      answers,
      fast: new FastLane({ ...shared, long, serverInfo: identity }),
      sdk,
      legacy,
      records,
      metrics,
      ops: host.ops,
      ready: { settings, health: host.health, catalog, federation, integrity, views: this.views },
      admin: this.admin,
      purge: new PurgeRoute({
        bus,
        instances: catalog.instances,
        secret: settings.cronSecret,
        failuresPerMinute: settings.CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE,
        clientIp: (req) => front.clientIp(req),
        log,
      }),
      backendEvents: new BackendEvents({
        federation,
        failuresPerMinute: settings.CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE,
        clientIp: (req) => front.clientIp(req),
      }),
      log,
    });
    this.webhooks = new WebhookListener({
      settings,
      authenticator: new WebhookAuthenticator({
        secret: settings.webhookToken,
        scopeImplies: settings.CORTEX_SCOPE_IMPLIES,
        authenticator,
        views: this.views,
      }),
      views: this.views,
      bus,
      instances: catalog.instances,
      runCall,
      limiter,
      records,
      metrics,
      log,
    });
    this.#observe();
  }

  /** Begins to follow what there is; the listener may open before that is known, `/ready` tells. */
  start(fastify: FastifyInstance): void {
    this.route.register(fastify);
    this.views.start();
    this.#followDecisions();
    this.catalog
      .follow(this.host.bus)
      .catch((error: unknown) => this.host.log.error({ err: error }, 'the tool catalogue cannot be followed'))
      .finally(() => this.desk.open())
      // Names of our own come first, so they have to be known.
      .finally(() => this.federation.start());
  }

  /** Another instance recorded something about definitions: what it decided is in force here as well, at once. */
  #followDecisions(): void {
    const hints = this.host.bus.subscribe(HINT, (message) => {
      if (!message.string().includes(`"${definitionHistory.name}"`)) return;
      this.federation
        .reconsider(this.integrity.look)
        .catch((error: unknown) =>
          this.host.log.error({ err: error }, 'decisions about definitions cannot be followed'),
        );
    });
    this.#cleanups.push(() => hints.unsubscribe());
  }

  /** No new request; streams end, calls under way get their answers. */
  async drain(): Promise<void> {
    this.route.draining = this.webhooks.draining = true;
    await Promise.allSettled([this.#legacy.close(), this.#sdk.close()]);
    const until = performance.now() + DRAIN_MS;
    while (this.route.active + this.webhooks.active + this.pipeline.inFlight > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /** Nest's own word for the end. */
  onModuleDestroy(): void {
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
    this.webhooks.close();
    this.views.stop();
    this.catalog.stop();
    void this.federation.stop();
    void this.#validator.close();
    this.records.stop();
    this.long.stop();
    this.authenticator.close();
  }

  #observe(): void {
    const { health } = this.host;
    const metrics = this.#metrics;
    const items = (): void => {
      const { prompts, resources, templates } = this.federation.current;
      for (const [backend, { healthy }] of this.federation.shelves) metrics.backendUp.set({ backend }, healthy ? 1 : 0);
      metrics.catalogItems.set({ kind: 'tool' }, this.catalog.all().length);
      metrics.catalogItems.set({ kind: 'prompt' }, prompts.length);
      metrics.catalogItems.set({ kind: 'resource' }, resources.length + templates.length);
    };
    this.#cleanups.push(
      health.add('mcp-edge.records', () => this.records.problem),
      health.add('mcp-edge.webhooks', () => this.webhooks.problem),
      health.add('mcp-edge.catalog', () => (this.catalog.complete ? null : 'the tools have not been told yet')),
      health.add('mcp-edge.federation', () => this.federation.problem),
      health.add('mcp-edge.views', () => this.views.problem),
      this.host.metrics.onScrape(async () => {
        this.#countSchemaFaults();
        metrics.quarantinedTools.set(this.integrity.heldCount);
        metrics.auditLinesDropped.set(this.host.lines.dropped);
        metrics.integrityDegraded.set(this.integrity.degraded.size > 0 ? 1 : 0);
      }),
      this.host.metrics.onScrape(async () => {
        items();
        // Infinite before the first load, which is no number of the text format.
        metrics.viewsAge.set(Math.min(this.views.ageMs / 1_000, 1e9));
      }),
    );
  }

  #countSchemaFaults(): void {
    const { schemaFaults } = this.#metrics;
    schemaFaults.reset();
    for (const { backend, badSchemas } of this.federation.shelves.values())
      for (const { reason } of badSchemas) schemaFaults.inc({ backend: backend.id, reason });
    for (const { shelf } of this.#lists.omitted) schemaFaults.inc({ backend: shelf, reason: 'no_such_form' });
  }
}

const edgeLog = ({ log }: ServiceHost): EdgeLog => ({
  debug: (fields, text) => log.debug(fields, text),
  info: (fields, text) => log.info(fields, text),
  warn: (fields, text) => log.warn(fields, text),
  error: (fields, text) => log.error(fields, text),
});
