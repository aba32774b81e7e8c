/** An answer of the user to a request of the server. */
export type Choice = "accept" | "acceptForSession" | "acceptAlways" | "decline" | "submit";
