/**
 * The shapes that travel between the modules. Types only: nothing here runs.
 *
 * @typedef {"user" | "assistant" | "system"} Role
 * @typedef {"idle" | "queued" | "running" | "awaiting_approval" | "failed"} RunState
 * @typedef {"connecting" | "online" | "offline" | "final"} LinkState
 *
 * @typedef {object} Actor
 * @property {string} type  "user", "agent", "staff" or "system"
 * @property {string} [id]
 *
 * @typedef {object} Elsewhere  What one other surface contributed to an answer.
 * @property {string} surface
 * @property {string} label
 * @property {number} count
 * @property {string} [since]  ISO 8601, UTC; not in the message feed
 *
 * @typedef {object} Saw  Summary of what the assistant saw.
 * @property {number} [count]
 * @property {Elsewhere[]} [elsewhere]
 * @property {number} [left_out]
 * @property {boolean} [missing]  history could not be read
 *
 * @typedef {object} LogEvent  One entry of the canonical log.
 * @property {number} seq
 * @property {string} type
 * @property {number} [v]
 * @property {string} [at]  ISO 8601, UTC, microseconds
 * @property {Actor | null} [actor]
 * @property {string | null} [surface]
 * @property {string | null} [run]
 * @property {string | null} [client_id]
 * @property {Record<string, any>} [data]
 * @property {string} [ref]  address of the whole event, when it is larger than a frame
 *
 * @typedef {object} Gap
 * @property {number} from
 * @property {number} to
 * @property {string} [reason]
 *
 * @typedef {object} Partial  Text so far of a message being written.
 * @property {string} message
 * @property {string} text
 * @property {number} [offset]  code points before `text`
 *
 * @typedef {object} Batch  One frame of the replay envelope.
 * @property {string} type
 * @property {string} epoch
 * @property {string} replay_id
 * @property {"full" | "resume" | "current"} mode
 * @property {boolean} [reset]
 * @property {number} batch  counts from 0
 * @property {boolean} last
 * @property {number} head
 * @property {number} floor
 * @property {boolean} [truncated]
 * @property {Gap | null} [gap]
 * @property {LogEvent[]} events
 * @property {RunState} [run]
 * @property {PendingEntry[]} [pending]
 * @property {Partial[]} [partials]
 *
 * @typedef {object} Delta
 * @property {string} message
 * @property {number} offset  code points
 * @property {string} text
 *
 * @typedef {object} Part  What a message holds besides words. One with an `attachment` has a file.
 * @property {string} type  photo, audio, voice, video, document, sticker, location, contact, poll, …
 * @property {string} [attachment]  id
 * @property {string} [words]  what stands for it, in brackets, in the message's text
 * @property {string} [name]
 * @property {string} [mime]
 * @property {number} [bytes]
 * @property {number} [width]  pixels
 * @property {number} [height]
 * @property {number} [seconds]
 * @property {string} [text]  a transcript or description
 * @property {number} [latitude]
 * @property {number} [longitude]
 *
 * @typedef {object} QueuedFile  A file of a message that is not sent yet.
 * @property {Blob} file
 * @property {string} name
 * @property {string | null} attachment  id, once it is on the server
 *
 * @typedef {object} MessageItem
 * @property {"message"} kind
 * @property {string} key
 * @property {string} id
 * @property {number} seq
 * @property {Role} role
 * @property {string} text
 * @property {number} length  code points of `text`
 * @property {string | null} html  sanitised by the server
 * @property {readonly Part[] | null} parts  files, places and the like
 * @property {"complete" | "writing" | "interrupted" | "redacted" | "refused"} status
 * @property {string | null} reason  why it was interrupted
 * @property {Actor | null} actor
 * @property {string | null} surface
 * @property {string | null} client_id
 * @property {string | null} run
 * @property {Saw | null} saw
 * @property {boolean} degraded
 * @property {boolean} edited
 * @property {"waiting" | "consumed" | "promoted" | "expired" | null} steer  said while the assistant was at work
 * @property {{surface: string, error: string} | null} undelivered
 * @property {string | null} at
 * @property {string | null} sent_at  the other platform's clock
 *
 * @typedef {object} NoticeItem  Something that happened between messages.
 * @property {"notice"} kind
 * @property {string} key
 * @property {number} seq
 * @property {string} type  the event's type
 * @property {string | null} at
 * @property {string | null} run
 * @property {Record<string, any>} data
 *
 * @typedef {"approved" | "denied" | "expired" | "cancelled"} Decision
 *
 * @typedef {object} Approval  Permission asked for a tool call.
 * @property {string} args_hash  names exactly the arguments shown
 * @property {string | null} expires_at  ISO 8601, UTC
 * @property {Decision | null} decision
 * @property {Actor | null} by
 * @property {string | null} where  alias of the surface it was decided on
 * @property {string | null} at
 *
 * @typedef {object} ToolItem  The assistant used a tool, or wants to.
 * @property {"tool"} kind
 * @property {string} key
 * @property {string} id
 * @property {number} seq
 * @property {string} name
 * @property {string | null} title  for people
 * @property {unknown} arguments
 * @property {"called" | "completed" | "failed"} status
 * @property {string | null} error
 * @property {string | null} run
 * @property {string | null} at
 * @property {Approval | null} approval
 *
 * @typedef {MessageItem | NoticeItem | ToolItem} Item
 *
 * @typedef {object} PendingEntry  What the last batch of a replay says is open.
 * @property {"approval" | "steer"} type
 * @property {string} [tool_call]
 * @property {string} [message]
 *
 * @typedef {object} State  The fold of one conversation's log.
 * @property {number} version
 * @property {string} conversation
 * @property {string | null} epoch
 * @property {number} seq  last event applied
 * @property {number} head
 * @property {number} floor
 * @property {string} title
 * @property {string} agent
 * @property {string} surface
 * @property {string | null} created_at
 * @property {readonly Item[]} items  ascending by seq
 * @property {RunState} run
 * @property {string | null} active  run being answered
 * @property {string | null} queued  run waiting behind it
 * @property {boolean} waiting  an approval is open
 * @property {boolean} failed
 * @property {readonly PendingEntry[]} pending
 * @property {Gap | null} gap
 * @property {number | null} before  seq to ask the message feed with; null when nothing earlier is known of
 *
 * @typedef {object} FeedMessage  One message of the REST feed.
 * @property {string} id
 * @property {number} seq
 * @property {Role} role
 * @property {string} text
 * @property {string | null} html
 * @property {readonly Part[] | null} [parts]
 * @property {MessageItem["status"]} status
 * @property {Actor | null} actor
 * @property {string | null} surface
 * @property {string | null} client_id
 * @property {string | null} run
 * @property {Saw | null} saw
 * @property {string | null} at
 * @property {string | null} sent_at
 *
 * @typedef {object} QueueItem  A message that the server has not confirmed yet.
 * @property {string} client_id
 * @property {string} text
 * @property {number} created_at  milliseconds since 1970
 * @property {readonly QueuedFile[]} [files]
 * @property {number} [progress]  0 to 1, while its files are on their way
 * @property {"waiting" | "uploading" | "sending" | "saved" | "refused" | "asking" | "late"} state
 * @property {number | null} seq  set once acknowledged
 * @property {string | null} code
 * @property {string | null} detail
 * @property {string | null} [resets_at]  when what this person may use in a day begins anew
 * @property {boolean} approved  the person said "send" to an old one
 *
 * @typedef {object} Budget  Little is left of what this person may use today.
 * @property {number | null} messages_left  null where it is tokens or money
 * @property {string} resets_at
 *
 * @typedef {object} Verdict  How this page's own answer to an approval fares.
 * @property {"sending" | "late" | "refused"} state
 * @property {Decision | null} decision  what was asked for; when late, what had been decided
 * @property {string} [code]
 * @property {string} [detail]
 * @property {Actor | string | null} [by]
 * @property {string | null} [where]
 * @property {string | null} [at]
 *
 * @typedef {object} Conversation  As the REST feed lists it.
 * @property {string} id
 * @property {string} title
 * @property {string} surface
 * @property {string} surface_label
 * @property {string} agent
 * @property {boolean} singleton
 * @property {boolean} read_only
 * @property {string | null} open_url
 * @property {boolean} shared
 * @property {boolean} reads
 * @property {number} head
 * @property {number} read_seq
 * @property {number} unread
 * @property {RunState} run
 * @property {string | null} [paused]  what people are told while staff let no replies begin here
 * @property {string} created_at
 * @property {string} updated_at
 *
 * @typedef {"both" | "reads" | "separate"} Sharing
 *
 * @typedef {object} Account  A connected account.
 * @property {string} id
 * @property {string} surface
 * @property {string} label
 * @property {string} name
 * @property {"pending" | "active"} status
 * @property {Sharing} sharing
 * @property {boolean} approvals  what the assistant asks permission for may be decided there
 * @property {boolean} has_buttons  it can be decided there at all
 * @property {string} created_at
 *
 * @typedef {object} Surface
 * @property {string} alias
 * @property {string} label
 * @property {boolean} connectable
 *
 * @typedef {object} LinkCode
 * @property {string} code
 * @property {string | null} url
 * @property {string} expires_at
 * @property {string} surface
 *
 * @typedef {object} ContextMessage
 * @property {string} id
 * @property {Role} role
 * @property {string} text
 * @property {string} surface
 * @property {string} surface_label
 * @property {boolean} own
 * @property {string} at
 * @property {string} conversation
 *
 * @typedef {object} Context  What the assistant saw, or would see.
 * @property {ContextMessage[]} messages
 * @property {{id: string, reason: string, text?: string}[]} left_out
 * @property {boolean} [more]  older messages were left out too, and are not listed
 *
 * @typedef {object} Config  What the template tag tells the element.
 * @property {string} api  address of the conversation list
 * @property {string} socket  path below which the sockets are
 * @property {string} user
 * @property {string} csrf
 * @property {string} login  address of the sign-in page
 * @property {string} agent  alias for new chats; empty for the site's default
 * @property {string} conversation  uuid to open first; empty for the newest
 * @property {boolean} localCopy
 * @property {Limits} limits
 * @property {import("./texts.js").Texts} texts
 *
 * @typedef {object} Limits  What the server takes in one message.
 * @property {number} text  bytes of UTF-8
 * @property {number} file  bytes of each file
 * @property {number} files
 *
 * @typedef {object} Memory  What counts in a conversation from others, and what is left out of it there.
 * @property {boolean} reads  it looks at others at all
 * @property {{
 *   surface: string, label: string, left_out: boolean, conversations: {
 *     id: string, title: string, left_out: boolean,
 *     messages: {id: string, role: Role, text: string, at: string, left_out: boolean}[],
 *   }[],
 * }[]} surfaces
 *
 * @typedef {object} Found  A message that fits a search, and what was said just before and after it.
 * @property {string} id
 * @property {string} conversation
 * @property {number} seq
 * @property {string} title  of its conversation
 * @property {string} surface
 * @property {string} surface_label
 * @property {Role} role
 * @property {string} text
 * @property {string} at
 * @property {Found[]} before
 * @property {Found[]} after
 *
 * @typedef {{left_out: boolean} & ({surface: string} | {conversation: string} | {message: string})} LeaveOut
 */

export {};
