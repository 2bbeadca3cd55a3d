// What a program finds besides the language itself. All of it was read before the program runs, and none of it calls
// anything that the program can replace: no method of a shared prototype, no iterator, no species. Functions are applied
// through the apply of Reflect, and tables have no prototype.
(function (host) {
  "use strict";
  const { apply, construct, ownKeys, getPrototypeOf, getOwnPropertyDescriptor, defineProperty, get } = Reflect;
  const { freeze, create, is } = Object;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const { stringify } = JSON;
  const { floor, trunc, min, max } = Math;
  const { fromCharCode, fromCodePoint } = String;
  const G = globalThis, O = Object, P = Promise, E = Error, D = Date, M = Map, S = Set, TE = TypeError, RE = RangeError;
  const objectProto = O.prototype;
  const isError = E.isError;
  const method = (c, name) => c.prototype[name];
  const getter = (c, name) => getOwnPropertyDescriptor(c.prototype, name).get;
  const mapGet = method(M, "get"), mapSet = method(M, "set"), mapHas = method(M, "has"), mapDelete = method(M, "delete");
  const mapEach = method(M, "forEach"), setEach = method(S, "forEach"), setAdd = method(S, "add");
  const setHas = method(S, "has"), setDelete = method(S, "delete");
  const dateTime = method(D, "getTime"), dateISO = method(D, "toISOString");
  const regexSource = getter(RegExp, "source"), regexFlags = getter(RegExp, "flags");
  const charCode = method(String, "charCodeAt"), slice = method(String, "slice"), indexOf = method(String, "indexOf");
  const wellFormed = method(String, "isWellFormed"), toWellFormed = method(String, "toWellFormed");
  const numberValue = method(Number, "valueOf"), stringValue = method(String, "valueOf");
  const booleanValue = method(Boolean, "valueOf"), bigintValue = method(BigInt, "valueOf"), symbolValue = method(Symbol, "valueOf");
  const bigintString = method(BigInt, "toString"), symbolDescription = getter(Symbol, "description");
  const typed = getPrototypeOf(Uint8Array.prototype);
  const typedLength = getOwnPropertyDescriptor(typed, "length").get, typedTag = getOwnPropertyDescriptor(typed, Symbol.toStringTag).get;
  const bufferLength = getter(ArrayBuffer, "byteLength"), bufferSlice = method(ArrayBuffer, "slice"), viewBuffer = getter(DataView, "buffer");
  const viewOffset = getter(DataView, "byteOffset"), viewLength = getter(DataView, "byteLength");
  const typedBuffer = getOwnPropertyDescriptor(typed, "buffer").get, typedOffset = getOwnPropertyDescriptor(typed, "byteOffset").get;
  const U8 = Uint8Array, AB = ArrayBuffer, DV = DataView;
  const typedKinds = create(null);
  for (const c of [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array,
    Float64Array, BigInt64Array, BigUint64Array]) typedKinds[c.name] = c;
  const errorKinds = create(null);
  for (const c of [E, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) errorKinds[c.name] = c;
  const str = String, num = Number;

  const has = (o, k) => getOwnPropertyDescriptor(o, k) !== undefined;
  const quote = (s) => apply(stringify, null, [s]);
  const put = (o, k, value) => defineProperty(o, k, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const hide = (o, k, value) => defineProperty(o, k, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  // kind is what a value is, as the engine knows it: no method of it is asked.
  const { kind } = host;
  const PROMISE = 1, DATE = 2, MAP = 3, SET = 4, REGEXP = 5, BUFFER = 6, NUMBER = 7, STRING = 8, BOOLEAN = 9, SYMBOL = 10, BIGINT = 11;

  // The stack of the program cannot be rewritten by it, nor be read while the prelude makes an error.
  defineProperty(E, "prepareStackTrace", { __proto__: null, value: undefined, writable: false, configurable: false });
  defineProperty(E, "stackTraceLimit", { __proto__: null, value: 10, writable: false, configurable: false });

  let limits, ended = false;

  class ToolCallError extends E {
    constructor(toolName, message) {
      super(message);
      hide(this, "toolName", toolName);
    }
  }
  hide(ToolCallError.prototype, "name", "ToolCallError");
  const toolError = (name, message, stack) => {
    const e = new ToolCallError(name, message);
    hide(e, "stack", stack);
    return e;
  };

  // enter notes that v is being walked through, and reports whether it was already; leave takes it back. What has nothing
  // above it costs nothing.
  let root, inside = null;
  const enter = (v, depth) => {
    if (depth === 0) { root = v; inside = null; return false; }
    if (v === root) return true;
    if (inside === null) inside = new S();
    else if (apply(setHas, inside, [v])) return true;
    apply(setAdd, inside, [v]);
    return false;
  };
  const leave = (v, depth) => { if (depth > 0) apply(setDelete, inside, [v]); };

  // Arguments: lossless JSON, or an error that names the path.

  const DEPTH = 500;
  let path;
  const plainKey = (k) => {
    if (k.length === 0 || k.length > 40) return false;
    for (let i = 0; i < k.length; i++) {
      const c = apply(charCode, k, [i]);
      if (!(c >= 97 && c <= 122 || c >= 65 && c <= 90 || c === 95 || c === 36 || i > 0 && c >= 48 && c <= 57)) return false;
    }
    return true;
  };
  const pathText = (depth) => {
    let s = "arguments";
    for (let i = 0; i < depth && i < 20; i++) {
      const k = path[i];
      s += typeof k === "number" ? "[" + k + "]" : plainKey(k) ? "." + k : "[" + quote(k.length > 40 ? apply(slice, k, [0, 40]) + "…" : k) + "]";
    }
    return depth > 20 ? s + "…" : s;
  };
  const refuse = (depth, what) => { throw { __proto__: null, refused: new TE(pathText(depth) + " " + what) }; };
  const describeKind = (v) => {
    switch (kind(v)) {
      case PROMISE: return "is a promise; await it first";
      case DATE: return "is a Date; pass its toISOString()";
      case MAP: return "is a Map; pass Object.fromEntries(map)";
      case SET: return "is a Set; pass [...set]";
      case REGEXP: return "is a regular expression; pass its source";
      case BUFFER: return "is binary data; pass an array of numbers or a string";
    }
    if (isError(v)) return "is an error; pass its message";
    if (isView(v)) return "is binary data; pass an array of numbers or a string";
    return "is not a plain object; pass a plain one, such as {...it}";
  };
  let size = 0;
  const grow = (s) => { size += s.length; if (size > limits.payload) throw { __proto__: null, refused: new RE("arguments are larger than " + limits.payload + " bytes") }; return s; };
  const write = (v, depth) => {
    switch (typeof v) {
      case "string":
        if (!apply(wellFormed, v, [])) refuse(depth, "has half of a surrogate pair, which is no Unicode");
        if (v.length > limits.payload) grow(v);
        return grow(quote(v));
      case "number":
        if (v !== v || v === 1 / 0 || v === -1 / 0) refuse(depth, "is " + v + ", which JSON cannot say");
        if (is(v, -0)) refuse(depth, "is -0, which JSON does not keep; use 0");
        return grow("" + v);
      case "boolean": return grow(v ? "true" : "false");
      case "undefined": refuse(depth, "is undefined; leave it out, or pass null");
      case "bigint": refuse(depth, "is a BigInt; pass a number or a string");
      case "symbol": refuse(depth, "is a symbol");
      case "function": refuse(depth, "is a function");
    }
    if (v === null) return grow("null");
    if (depth >= DEPTH) refuse(depth, "is nested deeper than " + DEPTH + " levels");
    if (enter(v, depth)) refuse(depth, "is part of itself");
    if (isArray(v)) {
      const n = v.length;
      if (ownKeys(v).length !== n + 1) {
        for (let i = 0; i < n; i++) if (!has(v, i)) { path[depth] = i; refuse(depth + 1, "is a hole in an array"); }
        refuse(depth, "is an array with properties of its own, which JSON drops");
      }
      let s = "[";
      for (let i = 0; i < n; i++) {
        path[depth] = i;
        if (i > 0) s += ",";
        s += write(v[i], depth + 1);
      }
      leave(v, depth);
      return s + grow("]");
    }
    const proto = getPrototypeOf(v);
    if (proto !== objectProto && proto !== null) refuse(depth, describeKind(v));
    const keys = ownKeys(v);
    let s = "{", first = true;
    for (let i = 0; i < keys.length; i++) {
      const k = keys[i];
      const d = getOwnPropertyDescriptor(v, k);
      if (d === undefined || !d.enumerable) continue;
      if (typeof k === "symbol") refuse(depth, "has a key that is a symbol");
      path[depth] = k;
      if (!apply(wellFormed, k, [])) refuse(depth + 1, "has a key with half of a surrogate pair, which is no Unicode");
      s += (first ? "" : ",") + grow(quote(k)) + ":" + write(has(d, "value") ? d.value : get(v, k), depth + 1);
      first = false;
    }
    leave(v, depth);
    return s + grow("}");
  };
  const argumentsOf = (n, a) => {
    if (n === 0) return "{}";
    if (n > 1) throw { __proto__: null, refused: new TE("a tool takes one argument, an object; this call has " + n) };
    // A getter may call a tool: the walks are nested then.
    const keptRoot = root, keptInside = inside, keptSize = size, keptPath = path;
    size = 0;
    path = create(null);
    try {
      return write(a, 0);
    } catch (e) {
      if (typeof e === "object" && e !== null && getPrototypeOf(e) === null && isError(e.refused)) throw e;
      throw { __proto__: null, refused: new TE("arguments cannot be read: " + brief(e)) };
    } finally {
      root = keptRoot; inside = keptInside; size = keptSize; path = keptPath;
    }
  };

  // Tools.

  const pending = new M();
  // callers is a stack without its first line: that of the tool itself.
  const callers = (stack) => apply(slice, stack, [apply(indexOf, stack, ["\n"]) + 1]);
  const makeTool = (name, index) => {
    const f = function (a) {
      const n = arguments.length;
      const at = callers(new E().stack);
      return new P((resolve, reject) => {
        if (ended) return reject(toolError(name, "the program has ended", at));
        let json;
        try {
          json = argumentsOf(n, a);
        } catch (e) {
          hide(e.refused, "stack", at);
          return reject(e.refused);
        }
        const id = host.call(index, json);
        if (id < 0) return reject(toolError(name, "arguments are larger than " + limits.payload + " bytes", at));
        apply(mapSet, pending, [id, { __proto__: null, resolve, reject, name, at }]);
      });
    };
    defineProperty(f, "name", { __proto__: null, value: name });
    return freeze(f);
  };
  const settle = (id, ok, v) => {
    const call = apply(mapGet, pending, [id]);
    apply(mapDelete, pending, [id]);
    if (ok) call.resolve(v); else call.reject(toolError(call.name, v, call.at));
  };
  // Tools are own properties of an object without a prototype. The proxy is there to say which tool there is not.
  const makeTools = (names) => {
    const table = create(null);
    for (let i = 0; i < names.length; i++) {
      defineProperty(table, names[i], { __proto__: null, value: makeTool(names[i], i), enumerable: true });
    }
    freeze(table);
    return new Proxy(table, freeze({
      __proto__: null,
      get(t, k) {
        const d = getOwnPropertyDescriptor(t, k);
        if (d !== undefined) return d.value;
        if (typeof k === "symbol" || k === "then" || k === "toJSON" || has(objectProto, k)) return undefined;
        let list = "";
        for (let i = 0; i < names.length && i < 20; i++) list += (i > 0 ? ", " : "") + names[i];
        throw new TE("there is no tool " + quote(k) + "; the tools are: " + list + (names.length > 20 ? ", and " + (names.length - 20) + " more" : ""));
      },
    }));
  };

  // Values as JSON that says as much as JSON can. Nothing fails by its shape; what throws is thrown on, what is too
  // large throws the token over.

  const over = { __proto__: null };
  let room = 0;
  const spend = (s) => { room -= s.length; if (room < 0) throw over; return s; };
  const text = (s) => { if (s.length > room) throw over; return spend(quote(apply(toWellFormed, s, []))); };
  const SHOWN = 200;
  const items = (v, n, depth, json) => {
    let s = spend("[");
    for (let i = 0; i < n; i++) {
      if (i > 0) s += spend(",");
      const x = show(v[i], depth + 1, "" + i, json);
      s += x === undefined ? spend("null") : x;
    }
    return s + spend("]");
  };
  const show = (v, depth, key, json) => {
    if (json && (typeof v === "object" && v !== null || typeof v === "bigint")) {
      const f = get(O(v), "toJSON");
      if (typeof f === "function") v = apply(f, v, [key]);
    }
    switch (typeof v) {
      case "string": return text(v);
      case "number": return is(v, -0) ? spend("-0") : v !== v || v === 1 / 0 || v === -1 / 0 ? text("" + v) : spend("" + v);
      case "boolean": return spend(v ? "true" : "false");
      case "undefined": return undefined;
      case "bigint": return text(apply(bigintString, v, []));
      case "symbol": { const d = apply(symbolDescription, v, []); return text("Symbol(" + (d === undefined ? "" : d) + ")"); }
      case "function": {
        const d = getOwnPropertyDescriptor(v, "name");
        return text("[function" + (d !== undefined && typeof d.value === "string" && d.value !== "" ? " " + d.value : "") + "]");
      }
    }
    if (v === null) return spend("null");
    if (depth >= SHOWN) return text("[nested too deeply]");
    if (enter(v, depth)) return text("[circular]");
    const s = showObject(v, depth, key, json);
    leave(v, depth);
    return s;
  };
  const showObject = (v, depth, key, json) => {
    const inner = (x) => { const s = show(x, depth + 1, key, json); return s === undefined ? spend("null") : s; };
    if (isArray(v) || apply(typedTag, v, []) !== undefined) return items(v, v.length, depth, json);
    if (isError(v)) {
      let s = spend("{") + "\"name\":" + text(field(v, "name")) + ",\"message\":" + text(field(v, "message"));
      if (has(v, "toolName")) s += ",\"toolName\":" + text(field(v, "toolName"));
      return s + spend("}");
    }
    switch (kind(v)) {
      case PROMISE: return text("[promise: await it]");
      case DATE: { const t = apply(dateTime, v, []); return text(t !== t ? "Invalid Date" : apply(dateISO, v, [])); }
      case MAP: case SET: {
        const all = [];
        let n = 0;
        if (kind(v) === MAP) apply(mapEach, v, [(x, k) => { put(all, n++, [k, x]); }]);
        else apply(setEach, v, [(x) => { put(all, n++, x); }]);
        return items(all, n, depth, json);
      }
      case REGEXP: return text("/" + apply(regexSource, v, []) + "/" + apply(regexFlags, v, []));
      case BUFFER: return text("[ArrayBuffer of " + apply(bufferLength, v, []) + " bytes]");
      case NUMBER: return inner(apply(numberValue, v, []));
      case STRING: return inner(apply(stringValue, v, []));
      case BOOLEAN: return inner(apply(booleanValue, v, []));
      case SYMBOL: return inner(apply(symbolValue, v, []));
      case BIGINT: return inner(apply(bigintValue, v, []));
    }
    let s = spend("{"), first = true;
    const keys = ownKeys(v);
    for (let i = 0; i < keys.length; i++) {
      const k = keys[i];
      if (typeof k === "symbol") continue;
      const d = getOwnPropertyDescriptor(v, k);
      if (d === undefined || !d.enumerable) continue;
      const x = show(has(d, "value") ? d.value : get(v, k), depth + 1, k, json);
      if (x === undefined) continue;
      s += (first ? "" : ",") + text(k) + ":" + x;
      first = false;
    }
    return s + spend("}");
  };
  // field is a property of an error as text, whatever the program has made of it.
  const field = (e, k) => {
    try {
      const v = get(e, k);
      return typeof v === "string" ? v : v === undefined ? "" : typeof v === "number" ? "" + v : inspect(v, 1000);
    } catch {
      return "";
    }
  };
  // inspect is v for a person. It never throws.
  const inspect = (v, most) => {
    if (typeof v === "string") return v.length > most ? apply(slice, v, [0, most]) + "…" : v;
    const kept = room, keptRoot = root, keptInside = inside;
    try {
      room = most;
      const s = show(v, 0, "", false);
      return s === undefined ? "undefined" : s;
    } catch (e) {
      return e === over ? "[too large]" : "[cannot be shown]";
    } finally {
      room = kept; root = keptRoot; inside = keptInside;
    }
  };
  const short = (s) => s.length > 5000 ? apply(slice, s, [0, 5000]) + "…" : s;
  // brief is what was thrown, in a line.
  const brief = (e) => {
    if (typeof e === "object" && e !== null && isError(e)) {
      const name = short(field(e, "name")), message = short(field(e, "message"));
      const tool = has(e, "toolName") ? " (tool " + quote(field(e, "toolName")) + ")" : "";
      return (name === "" ? message : message === "" ? name : name + ": " + message) + tool;
    }
    return inspect(e, 2000);
  };
  // frames is a stack without what is not the program's. That is done here, where it is known to be one: a text that only
  // looks so, such as what a tool has returned, loses nothing.
  const frames = (stack) => {
    let s = "";
    for (let i = 0; i < stack.length;) {
      let end = apply(indexOf, stack, ["\n", i]);
      if (end < 0) end = stack.length;
      const line = apply(slice, stack, [i, end]);
      if (apply(indexOf, line, ["    at "]) !== 0 || apply(indexOf, line, ["program.ts:"]) >= 0) s += "\n" + line;
      i = end + 1;
    }
    return s;
  };
  // describe is what was thrown, with its stack and causes.
  const describe = (e, depth) => {
    if (!(typeof e === "object" && e !== null && isError(e))) return "thrown, though no error: " + inspect(e, 2000);
    let s = brief(e) + frames(short(field(e, "stack")));
    if (depth > 3) return s;
    let d;
    try {
      d = get(e, "errors");
      if (isArray(d)) for (let i = 0; i < d.length && i < 5; i++) s += "\n- " + describe(d[i], depth + 1);
      d = get(e, "cause");
      if (d !== undefined) s += "\ncaused by: " + describe(d, depth + 1);
    } catch { }
    return s;
  };

  const finish = (v) => {
    ended = true;
    room = limits.value;
    try {
      const s = show(v, 0, "", true);
      return s === undefined ? "u" : "v" + s;
    } catch (e) {
      return e === over ? "o" : "x" + describe(e, 0);
    }
  };
  const fail = (e) => { ended = true; return describe(e, 0); };

  // The console.

  let left = 0;
  const format = (n, args) => {
    let s = "", i = 0;
    if (n > 1 && typeof args[0] === "string" && apply(indexOf, args[0], ["%"]) >= 0) {
      const f = args[0];
      i = 1;
      let from = 0;
      for (;;) {
        const p = apply(indexOf, f, ["%", from]);
        if (p < 0 || p + 1 >= f.length) break;
        const c = f[p + 1];
        if (c === "%") { s += apply(slice, f, [from, p + 1]); from = p + 2; continue; }
        s += apply(slice, f, [from, p]);
        from = p + 2;
        if (i < n && (c === "s" || c === "d" || c === "i" || c === "f" || c === "j" || c === "o" || c === "O")) {
          const v = args[i++];
          s += (c === "d" || c === "i" || c === "f") && typeof v !== "object" && typeof v !== "symbol" && typeof v !== "function"
            ? "" + (c === "i" ? trunc(num(v)) : num(v)) : showLog(v);
        } else if (c === "c" && i < n) i++;
        else s += "%" + c;
      }
      s += apply(slice, f, [from]);
    }
    for (; i < n; i++) s += (i > 0 ? " " : "") + showLog(args[i]);
    return s;
  };
  const showLog = (v) => {
    if (typeof v === "string") return v;
    if (typeof v === "object" && v !== null && isError(v)) return describe(v, 2);
    return inspect(v, max(1000, min(left, 100000)));
  };
  const print = (level, n, args) => { left = host.log(level, apply(toWellFormed, format(n, args), [])); };
  let indent = "";
  const console = {};
  const level = (name, as) => put(console, name, { [name]() { print(as, arguments.length, arguments); } }[name]);
  level("log", "log"); level("info", "info"); level("warn", "warn"); level("error", "error"); level("debug", "debug");
  level("trace", "log"); level("dir", "log"); level("table", "log"); level("group", "log");
  put(console, "groupEnd", function groupEnd() { });
  put(console, "assert", function assert(ok, ...args) { if (!ok) print("error", 1, ["Assertion failed" + (args.length > 0 ? ": " + format(args.length, args) : "")]); });

  // Timers.

  const timers = new M();
  let lastTimer = 0;
  const timer = (what, n, f, ms, args, repeat) => {
    if (typeof f !== "function") throw new TE(what + " takes a function");
    if (ended) return 0;
    ms = num(ms);
    ms = ms >= 1 ? min(floor(ms), 2147483647) : repeat ? 1 : 0;
    const id = ++lastTimer;
    if (!host.timer(id, ms)) throw new RE("too many timers");
    const rest = [];
    for (let i = 2; i < n; i++) put(rest, i - 2, args[i]);
    apply(mapSet, timers, [id, { __proto__: null, f, rest, every: repeat ? ms : -1 }]);
    return id;
  };
  const clear = (id) => { if (apply(mapDelete, timers, [id])) host.clear(id); };
  const fire = (id) => {
    const t = apply(mapGet, timers, [id]);
    if (t === undefined) return;
    if (t.every >= 0) host.timer(id, t.every); else apply(mapDelete, timers, [id]);
    apply(t.f, undefined, t.rest);
  };

  const soon = async (f) => { await undefined; apply(f, undefined, []); };

  // structuredClone.

  const clone = (v, seen) => {
    if (typeof v === "function" || typeof v === "symbol") throw cloneError(typeof v === "symbol" ? "a symbol" : "a function");
    if (typeof v !== "object" || v === null) return v;
    if (apply(mapHas, seen, [v])) return apply(mapGet, seen, [v]);
    const keep = (c) => { apply(mapSet, seen, [v, c]); return c; };
    const copy = (c) => {
      const keys = ownKeys(v);
      for (let i = 0; i < keys.length; i++) {
        const d = getOwnPropertyDescriptor(v, keys[i]);
        if (typeof keys[i] === "string" && d !== undefined && d.enumerable) put(c, keys[i], clone(get(v, keys[i]), seen));
      }
      return c;
    };
    if (isArray(v)) { const c = keep([]); c.length = v.length; return copy(c); }
    switch (kind(v)) {
      case PROMISE: throw cloneError("a promise");
      case DATE: return keep(construct(D, [apply(dateTime, v, [])]));
      case MAP: {
        const c = keep(new M());
        apply(mapEach, v, [(x, k) => { apply(mapSet, c, [clone(k, seen), clone(x, seen)]); }]);
        return c;
      }
      case SET: {
        const c = keep(new S());
        apply(setEach, v, [(x) => { apply(setAdd, c, [clone(x, seen)]); }]);
        return c;
      }
      case REGEXP: return keep(construct(RegExpC, [apply(regexSource, v, []), apply(regexFlags, v, [])]));
      case BUFFER: return keep(apply(bufferSlice, v, [0]));
      case NUMBER: return keep(O(apply(numberValue, v, [])));
      case STRING: return keep(O(apply(stringValue, v, [])));
      case BOOLEAN: return keep(O(apply(booleanValue, v, [])));
      case BIGINT: return keep(O(apply(bigintValue, v, [])));
      case SYMBOL: throw cloneError("a symbol");
    }
    if (isError(v)) {
      const c = keep(construct(errorKinds[field(v, "name")] || E, [field(v, "message")]));
      hide(c, "stack", field(v, "stack"));
      const d = getOwnPropertyDescriptor(v, "cause");
      if (d !== undefined && has(d, "value")) hide(c, "cause", clone(d.value, seen));
      return c;
    }
    const tag = apply(typedTag, v, []);
    if (tag !== undefined && typedKinds[tag] !== undefined) {
      const n = apply(typedLength, v, []);
      return keep(construct(typedKinds[tag], [clone(apply(typedBuffer, v, []), seen), apply(typedOffset, v, []), n]));
    }
    if (isView(v)) return keep(construct(DV, [clone(apply(viewBuffer, v, []), seen), apply(viewOffset, v, []), apply(viewLength, v, [])]));
    return copy(keep({}));
  };
  const RegExpC = RegExp;
  const cloneError = (what) => { const e = new E(what + " cannot be cloned"); hide(e, "name", "DataCloneError"); return e; };

  // Text and bytes.

  const bytesOf = (v) => {
    if (v === undefined) return new U8(0);
    if (typeof v === "object" && v !== null && kind(v) === BUFFER) return new U8(v);
    if (apply(typedTag, v, []) !== undefined) {
      return apply(typedTag, v, []) === "Uint8Array" ? v : construct(U8, [apply(typedBuffer, v, []), apply(typedOffset, v, []), apply(byteLength, v, [])]);
    }
    if (isView(v)) return construct(U8, [apply(viewBuffer, v, []), apply(viewOffset, v, []), apply(viewLength, v, [])]);
    throw new TE("bytes must be an ArrayBuffer or a view of one");
  };
  const byteLength = getOwnPropertyDescriptor(typed, "byteLength").get;
  const encode = (s) => {
    s = apply(toWellFormed, s, []);
    let n = 0;
    for (let i = 0; i < s.length; i++) {
      const c = apply(charCode, s, [i]);
      n += c < 0x80 ? 1 : c < 0x800 ? 2 : c >= 0xd800 && c < 0xe000 ? 2 : 3;
    }
    const b = new U8(n);
    let j = 0;
    for (let i = 0; i < s.length; i++) {
      let c = apply(charCode, s, [i]);
      if (c >= 0xd800 && c < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + apply(charCode, s, [++i]) - 0xdc00;
        b[j++] = 0xf0 | c >> 18; b[j++] = 0x80 | c >> 12 & 63; b[j++] = 0x80 | c >> 6 & 63; b[j++] = 0x80 | c & 63;
      } else if (c < 0x80) b[j++] = c;
      else if (c < 0x800) { b[j++] = 0xc0 | c >> 6; b[j++] = 0x80 | c & 63; }
      else { b[j++] = 0xe0 | c >> 12; b[j++] = 0x80 | c >> 6 & 63; b[j++] = 0x80 | c & 63; }
    }
    return b;
  };
  const decode = (b, fatal, keepBOM) => {
    let s = "", i = 0;
    const n = apply(typedLength, b, []);
    if (!keepBOM && n >= 3 && b[0] === 0xef && b[1] === 0xbb && b[2] === 0xbf) i = 3;
    while (i < n) {
      const c = b[i++];
      if (c < 0x80) { s += apply(fromCharCode, null, [c]); continue; }
      let need = 0, low = 0x80, high = 0xbf, p = 0;
      if (c >= 0xc2 && c <= 0xdf) { need = 1; p = c & 31; }
      else if (c >= 0xe0 && c <= 0xef) { need = 2; p = c & 15; if (c === 0xe0) low = 0xa0; if (c === 0xed) high = 0x9f; }
      else if (c >= 0xf0 && c <= 0xf4) { need = 3; p = c & 7; if (c === 0xf0) low = 0x90; if (c === 0xf4) high = 0x8f; }
      let ok = need > 0;
      while (ok && need > 0) {
        if (i >= n || b[i] < low || b[i] > high) { ok = false; break; }
        p = p << 6 | b[i++] & 63;
        low = 0x80; high = 0xbf; need--;
      }
      if (!ok) {
        if (fatal) throw new TE("the bytes are not UTF-8");
        s += "\uFFFD";
      } else s += apply(fromCodePoint, null, [p]);
    }
    return s;
  };
  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(s) { return encode(s === undefined ? "" : str(s)); }
    encodeInto(s, into) {
      s = str(s);
      let read = 0, written = 0;
      const n = apply(typedLength, into, []);
      while (read < s.length) {
        const c = apply(charCode, s, [read]);
        const d = c >= 0xd800 && c < 0xdc00 && read + 1 < s.length ? apply(charCode, s, [read + 1]) : 0;
        const units = d >= 0xdc00 && d < 0xe000 ? 2 : 1;
        const b = encode(apply(slice, s, [read, read + units]));
        const size = apply(typedLength, b, []);
        if (written + size > n) break;
        for (let i = 0; i < size; i++) into[written++] = b[i];
        read += units;
      }
      return { read, written };
    }
  }
  class TextDecoder {
    #fatal; #keepBOM;
    constructor(label = "utf-8", options = {}) {
      const l = apply(lower, str(label), []);
      if (l !== "utf-8" && l !== "utf8" && l !== "unicode-1-1-utf-8") throw new RE("TextDecoder knows utf-8 only, not " + quote(l));
      this.#fatal = !!options.fatal;
      this.#keepBOM = !!options.ignoreBOM;
    }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#keepBOM; }
    decode(bytes, options) {
      if (options !== undefined && options !== null && options.stream) throw new TE("TextDecoder does not stream: decode all bytes at once");
      return decode(bytesOf(bytes), this.#fatal, this.#keepBOM);
    }
  }
  const lower = method(String, "toLowerCase");
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const characterError = (what) => { const e = new E(what); hide(e, "name", "InvalidCharacterError"); return e; };
  function btoa(s) {
    if (arguments.length === 0) throw new TE("btoa takes a string");
    s = str(s);
    let r = "";
    for (let i = 0; i < s.length; i += 3) {
      const a = apply(charCode, s, [i]), b = i + 1 < s.length ? apply(charCode, s, [i + 1]) : 0, c = i + 2 < s.length ? apply(charCode, s, [i + 2]) : 0;
      if (a > 255 || b > 255 || c > 255) throw characterError("btoa takes characters up to 255 only; encode the text with TextEncoder first");
      r += DIGITS[a >> 2] + DIGITS[(a & 3) << 4 | b >> 4] + (i + 1 < s.length ? DIGITS[(b & 15) << 2 | c >> 6] : "=") + (i + 2 < s.length ? DIGITS[c & 63] : "=");
    }
    return r;
  }
  function atob(s) {
    if (arguments.length === 0) throw new TE("atob takes a string");
    s = str(s);
    let t = "";
    for (let i = 0; i < s.length; i++) { const c = s[i]; if (c !== " " && c !== "\t" && c !== "\n" && c !== "\f" && c !== "\r") t += c; }
    if (t.length % 4 === 0 && t.length > 0) {
      if (t[t.length - 1] === "=") t = apply(slice, t, [0, t[t.length - 2] === "=" ? -2 : -1]);
    }
    if (t.length % 4 === 1) throw characterError("not base64");
    let r = "", bits = 0, n = 0;
    for (let i = 0; i < t.length; i++) {
      const d = apply(indexOf, DIGITS, [t[i]]);
      if (d < 0) throw characterError("not base64");
      bits = (bits << 6 | d) & 0xffff; n += 6;
      if (n >= 8) { n -= 8; r += apply(fromCharCode, null, [bits >> n & 255]); }
    }
    return r;
  }

  // The clock and the dice, where the host has its own.

  const makeDate = (now) => {
    function Date(...a) {
      if (new.target === undefined) return str(construct(D, [now()]));
      const n = a.length;
      const args = [];
      if (n === 0) put(args, 0, now());
      for (let i = 0; i < n; i++) put(args, i, a[i]);
      return construct(D, args, new.target === Date ? D : new.target);
    }
    defineProperty(Date, "length", { __proto__: null, value: 7, configurable: true });
    defineProperty(Date, "prototype", { __proto__: null, value: D.prototype, writable: false });
    hide(D.prototype, "constructor", Date);
    hide(Date, "now", { now() { return now(); } }.now);
    hide(Date, "parse", D.parse);
    hide(Date, "UTC", D.UTC);
    return Date;
  };

  const realNow = D.now;
  const open = (options) => {
    limits = options;
    left = options.logs;
    const now = options.now ? () => host.now() : () => apply(realNow, D, []);
    if (options.now) hide(G, "Date", makeDate(now));
    hide(Math, "random", { random() { return host.random(); } }.random);
    const start = now();
    hide(G, "performance", freeze({ now() { return now() - start; } }));
    const tools = makeTools(options.tools);
    defineProperty(G, "tools", { __proto__: null, value: tools, enumerable: true });
    hide(G, "ToolCallError", ToolCallError);
    hide(G, "console", console);
    hide(G, "setTimeout", function setTimeout(f, ms) { return timer("setTimeout", arguments.length, f, ms, arguments, false); });
    hide(G, "setInterval", function setInterval(f, ms) { return timer("setInterval", arguments.length, f, ms, arguments, true); });
    hide(G, "clearTimeout", function clearTimeout(id) { clear(id); });
    hide(G, "clearInterval", function clearInterval(id) { clear(id); });
    hide(G, "queueMicrotask", function queueMicrotask(f) {
      if (typeof f !== "function") throw new TE("queueMicrotask takes a function");
      soon(f);
    });
    hide(G, "structuredClone", function structuredClone(v) {
      if (arguments.length === 0) throw new TE("structuredClone takes a value");
      return clone(v, new M());
    });
    hide(G, "TextEncoder", TextEncoder);
    hide(G, "TextDecoder", TextDecoder);
    hide(G, "btoa", btoa);
    hide(G, "atob", atob);
    for (const name of ["dispose", "asyncDispose"]) {
      if (!has(Symbol, name)) defineProperty(Symbol, name, { __proto__: null, value: Symbol("Symbol." + name) });
    }
  };

  return [open, settle, fire, finish, fail, brief];
})
