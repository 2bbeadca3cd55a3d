declare const tools: {
  /**
   * Searches files.
   *
   * Returns matches.
   */
  grep(args: {
    limit?: number;
    options?: {
      case?: null | boolean;
      extras?: { [key: string]: unknown };
    };
    /** where to look */
    paths?: string[];
    /** a regular expression */
    pattern: string;
  }): Promise<{
    file: string;
    line: number;
  }[]>;
  /** The time. */
  now(args?: {}): Promise<string>;
  enums(args: {
    all?: string;
    any?: unknown;
    both?: { [key: string]: unknown } & (string | null);
    either?: boolean | {
      named?: string;
      self?: unknown;
    };
    /** @default "low" */
    level?: "low" | "high";
    /** @minItems 1 */
    list?: (string | number)[];
    /** which */
    mode: unknown;
    /**
     * how many
     * @minimum 0
     * @maximum 10
     */
    n?: number | null;
    no?: unknown;
    one?: "only";
    pair?: [string, number];
    rest?: [string, ...unknown[]];
    variants?: {
      x?: null;
      y?: unknown;
    };
  }): Promise<unknown>;
  /** One line. */
  open(args?: {
    a?: string;
    [key: string]: unknown;
  }): Promise<{ [key: string]: number }>;
  anything(args?: { [key: string]: unknown }): Promise<unknown>;
  closed(args?: {}): Promise<unknown>;
};
