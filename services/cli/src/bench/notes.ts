import { Id } from '@cortex/contracts';
import { defineDecider, defineMigrations, defineProjection } from '@cortex/eventstore';
import { defineService, defineTool } from '@cortex/service-kit';
import type { Kysely } from 'kysely';
import { z } from 'zod';

/*
 * A service with one aggregate and one view of it, for what a commit and its projection cost. Like the echo it borrows the
 * name of a service, since bus users and schemas are those of the ten.
 */

export type NoteEvent = { type: 'NoteAdded'; data: { text: string } };

interface NotesDb {
  notes: { workspace_id: string; id: string; added: number; text: string; at: string };
}

export const NOTE = 'waitpoint.note';

const note = defineDecider<{ type: 'AddNote'; text: string }, NoteEvent, { added: number }>({
  subject: NOTE,
  initial: { added: 0 },
  decide: ({ text }) => [{ type: 'NoteAdded', data: { text } }],
  evolve: ({ added }) => ({ added: added + 1 }),
});

/** The last text of a note and how many were added to it. */
export const notes = defineProjection<NoteEvent, NotesDb>({
  name: 'bench_notes_v1',
  subject: 'cortex.evt.waitpoint.*.note.*',
  tables: ['notes'],
  on: {
    NoteAdded: ({ id, workspace, at, data }, tx) =>
      tx
        .insertInto('notes')
        .values({ workspace_id: workspace, id, added: 1, text: data.text, at })
        .onConflict((conflict) =>
          conflict
            .columns(['workspace_id', 'id'])
            .doUpdateSet((eb) => ({ added: eb('notes.added', '+', 1), text: data.text, at })),
        )
        .execute(),
  },
});

const migrations = defineMigrations({
  '0001_notes': {
    up: (db: Kysely<unknown>) =>
      db.schema
        .createTable('notes')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('added', 'integer', (column) => column.notNull())
        .addColumn('text', 'text', (column) => column.notNull())
        .addColumn('at', 'timestamptz', (column) => column.notNull())
        .addPrimaryKeyConstraint('notes_pk', ['workspace_id', 'id'])
        .execute(),
  },
});

export const ADD = 'bench_add_note';
export const READ = 'bench_read_note';
const shared = { actions: [], workspace: 'none' } as const;

export const notesService = defineService({
  name: 'waitpoint',
  config: z.object({}),
  tools: [
    defineTool({
      ...shared,
      name: ADD,
      title: 'Add a note',
      description: 'Writes a note. Exists while the bench runs.',
      tier: 'write',
      input: z.object({ id: Id, text: z.string() }),
      output: z.object({ id: z.string() }),
      async handle({ id, text }, ctx) {
        await ctx.execute(note, id, { type: 'AddNote', text });
        return { id };
      },
    }),
    defineTool({
      ...shared,
      name: READ,
      title: 'Read a note',
      description: 'Reads a note from its view. Exists while the bench runs.',
      tier: 'read',
      input: z.object({ id: Id }),
      output: z.object({ added: z.number() }),
      async handle({ id }, ctx) {
        const db = await ctx.read(notes);
        const row = await db.selectFrom('notes').select('added').where('id', '=', id).executeTakeFirst();
        return { added: row?.added ?? 0 };
      },
    }),
  ],
  projections: [notes],
  migrations,
});
