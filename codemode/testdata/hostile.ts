declare const tools: {
  /**
   * The tool __proto__ *\/ evil(); /**
   *  * @see
   * evil()
   */
  "__proto__"(args: {
    /**
     * __proto__
     * @default "__proto__"
     * @pattern "*\/"
     */
    "__proto__": "__proto__";
  }): Promise<{
    /**
     * __proto__
     * @default "__proto__"
     * @pattern "*\/"
     */
    "__proto__": "__proto__";
  }>;
  /**
   * The tool constructor *\/ evil(); /**
   *  * @see
   * evil()
   */
  "constructor"(args: {
    /**
     * constructor
     * @default "constructor"
     * @pattern "*\/"
     */
    "constructor": "constructor";
  }): Promise<{
    /**
     * constructor
     * @default "constructor"
     * @pattern "*\/"
     */
    "constructor": "constructor";
  }>;
  /**
   * The tool toString *\/ evil(); /**
   *  * @see
   * evil()
   */
  toString(args: {
    /**
     * toString
     * @default "toString"
     * @pattern "*\/"
     */
    toString: "toString";
  }): Promise<{
    /**
     * toString
     * @default "toString"
     * @pattern "*\/"
     */
    toString: "toString";
  }>;
  /**
   * The tool then *\/ evil(); /**
   *  * @see
   * evil()
   */
  then(args: {
    /**
     * then
     * @default "then"
     * @pattern "*\/"
     */
    then: "then";
  }): Promise<{
    /**
     * then
     * @default "then"
     * @pattern "*\/"
     */
    then: "then";
  }>;
  /**
   * The tool new *\/ evil(); /**
   *  * @see
   * evil()
   */
  "new"(args: {
    /**
     * new
     * @default "new"
     * @pattern "*\/"
     */
    "new": "new";
  }): Promise<{
    /**
     * new
     * @default "new"
     * @pattern "*\/"
     */
    "new": "new";
  }>;
  /**
   * The tool get *\/ evil(); /**
   *  * @see
   * evil()
   */
  "get"(args: {
    /**
     * get
     * @default "get"
     * @pattern "*\/"
     */
    "get": "get";
  }): Promise<{
    /**
     * get
     * @default "get"
     * @pattern "*\/"
     */
    "get": "get";
  }>;
  /**
   * The tool delete *\/ evil(); /**
   *  * @see
   * evil()
   */
  delete(args: {
    /**
     * delete
     * @default "delete"
     * @pattern "*\/"
     */
    delete: "delete";
  }): Promise<{
    /**
     * delete
     * @default "delete"
     * @pattern "*\/"
     */
    delete: "delete";
  }>;
  /**
   * The tool a-b *\/ evil(); /**
   *  * @see
   * evil()
   */
  "a-b"(args: {
    /**
     * a-b
     * @default "a-b"
     * @pattern "*\/"
     */
    "a-b": "a-b";
  }): Promise<{
    /**
     * a-b
     * @default "a-b"
     * @pattern "*\/"
     */
    "a-b": "a-b";
  }>;
  /**
   * The tool a b *\/ evil(); /**
   *  * @see
   * evil()
   */
  "a b"(args: {
    /**
     * a b
     * @default "a b"
     * @pattern "*\/"
     */
    "a b": "a b";
  }): Promise<{
    /**
     * a b
     * @default "a b"
     * @pattern "*\/"
     */
    "a b": "a b";
  }>;
  /**
   * The tool  *\/ evil(); /**
   *  * @see
   * evil()
   */
  ""(args: {
    /**
     * @default ""
     * @pattern "*\/"
     */
    "": "";
  }): Promise<{
    /**
     * @default ""
     * @pattern "*\/"
     */
    "": "";
  }>;
  /**
   * The tool 1 *\/ evil(); /**
   *  * @see
   * evil()
   */
  "1"(args: {
    /**
     * 1
     * @default "1"
     * @pattern "*\/"
     */
    "1": "1";
  }): Promise<{
    /**
     * 1
     * @default "1"
     * @pattern "*\/"
     */
    "1": "1";
  }>;
  /**
   * The tool läuft *\/ evil(); /**
   *  * @see
   * evil()
   */
  "läuft"(args: {
    /**
     * läuft
     * @default "läuft"
     * @pattern "*\/"
     */
    "läuft": "läuft";
  }): Promise<{
    /**
     * läuft
     * @default "läuft"
     * @pattern "*\/"
     */
    "läuft": "läuft";
  }>;
  /**
   * The tool *\/ evil(); /* *\/ evil(); /**
   *  * @see
   * evil()
   */
  "*/ evil(); /*"(args: {
    /**
     * *\/ evil(); /*
     * @default "*\/ evil(); /*"
     * @pattern "*\/"
     */
    "*/ evil(); /*": "*/ evil(); /*";
  }): Promise<{
    /**
     * *\/ evil(); /*
     * @default "*\/ evil(); /*"
     * @pattern "*\/"
     */
    "*/ evil(); /*": "*/ evil(); /*";
  }>;
  /**
   * The tool // *\/ evil(); /**
   *  * @see
   * evil()
   */
  "//"(args: {
    /**
     * //
     * @default "//"
     * @pattern "*\/"
     */
    "//": "//";
  }): Promise<{
    /**
     * //
     * @default "//"
     * @pattern "*\/"
     */
    "//": "//";
  }>;
  /**
   * The tool `${x}` *\/ evil(); /**
   *  * @see
   * evil()
   */
  "`${x}`"(args: {
    /**
     * `${x}`
     * @default "`${x}`"
     * @pattern "*\/"
     */
    "`${x}`": "`${x}`";
  }): Promise<{
    /**
     * `${x}`
     * @default "`${x}`"
     * @pattern "*\/"
     */
    "`${x}`": "`${x}`";
  }>;
  /**
   * The tool "quote" *\/ evil(); /**
   *  * @see
   * evil()
   */
  "\"quote\""(args: {
    /**
     * "quote"
     * @default "\"quote\""
     * @pattern "*\/"
     */
    "\"quote\"": "\"quote\"";
  }): Promise<{
    /**
     * "quote"
     * @default "\"quote\""
     * @pattern "*\/"
     */
    "\"quote\"": "\"quote\"";
  }>;
  /**
   * The tool back\slash *\/ evil(); /**
   *  * @see
   * evil()
   */
  "back\\slash"(args: {
    /**
     * back\slash
     * @default "back\\slash"
     * @pattern "*\/"
     */
    "back\\slash": "back\\slash";
  }): Promise<{
    /**
     * back\slash
     * @default "back\\slash"
     * @pattern "*\/"
     */
    "back\\slash": "back\\slash";
  }>;
  /**
   * The tool new
   * line *\/ evil(); /**
   *  * @see
   * evil()
   */
  "new\nline"(args: {
    /**
     * new
     * line
     * @default "new\nline"
     * @pattern "*\/"
     */
    "new\nline": "new\nline";
  }): Promise<{
    /**
     * new
     * line
     * @default "new\nline"
     * @pattern "*\/"
     */
    "new\nline": "new\nline";
  }>;
  /**
   * The tool
   *
   *  *\/ evil(); /**
   *  * @see
   * evil()
   */
  "\u2028\u2029"(args: {
    /**
     * @default "\u2028\u2029"
     * @pattern "*\/"
     */
    "\u2028\u2029": "\u2028\u2029";
  }): Promise<{
    /**
     * @default "\u2028\u2029"
     * @pattern "*\/"
     */
    "\u2028\u2029": "\u2028\u2029";
  }>;
  /**
   * The tool   *\/ evil(); /**
   *  * @see
   * evil()
   */
  "\u0000"(args: {
    /**
     * @default "\u0000"
     * @pattern "*\/"
     */
    "\u0000": "\u0000";
  }): Promise<{
    /**
     * @default "\u0000"
     * @pattern "*\/"
     */
    "\u0000": "\u0000";
  }>;
  /**
   * The tool � *\/ evil(); /**
   *  * @see
   * evil()
   */
  "�"(args: {
    /**
     * ��
     * @default "��"
     * @pattern "*\/"
     */
    "��": "��";
  }): Promise<{
    /**
     * ��
     * @default "��"
     * @pattern "*\/"
     */
    "��": "��";
  }>;
  /**
   * The tool }; evil(); declare const x: { *\/ evil(); /**
   *  * @see
   * evil()
   */
  "}; evil(); declare const x: {"(args: {
    /**
     * }; evil(); declare const x: {
     * @default "}; evil(); declare const x: {"
     * @pattern "*\/"
     */
    "}; evil(); declare const x: {": "}; evil(); declare const x: {";
  }): Promise<{
    /**
     * }; evil(); declare const x: {
     * @default "}; evil(); declare const x: {"
     * @pattern "*\/"
     */
    "}; evil(); declare const x: {": "}; evil(); declare const x: {";
  }>;
  /**
   * The tool tools *\/ evil(); /**
   *  * @see
   * evil()
   */
  tools(args: {
    /**
     * tools
     * @default "tools"
     * @pattern "*\/"
     */
    tools: "tools";
  }): Promise<{
    /**
     * tools
     * @default "tools"
     * @pattern "*\/"
     */
    tools: "tools";
  }>;
  /**
   * The tool 🙂 *\/ evil(); /**
   *  * @see
   * evil()
   */
  "🙂"(args: {
    /**
     * 🙂
     * @default "🙂"
     * @pattern "*\/"
     */
    "🙂": "🙂";
  }): Promise<{
    /**
     * 🙂
     * @default "🙂"
     * @pattern "*\/"
     */
    "🙂": "🙂";
  }>;
  /**
   * The tool a.b *\/ evil(); /**
   *  * @see
   * evil()
   */
  "a.b"(args: {
    /**
     * a.b
     * @default "a.b"
     * @pattern "*\/"
     */
    "a.b": "a.b";
  }): Promise<{
    /**
     * a.b
     * @default "a.b"
     * @pattern "*\/"
     */
    "a.b": "a.b";
  }>;
  /**
   * The tool [x] *\/ evil(); /**
   *  * @see
   * evil()
   */
  "[x]"(args: {
    /**
     * [x]
     * @default "[x]"
     * @pattern "*\/"
     */
    "[x]": "[x]";
  }): Promise<{
    /**
     * [x]
     * @default "[x]"
     * @pattern "*\/"
     */
    "[x]": "[x]";
  }>;
  /**
   * The tool constructor( *\/ evil(); /**
   *  * @see
   * evil()
   */
  "constructor("(args: {
    /**
     * constructor(
     * @default "constructor("
     * @pattern "*\/"
     */
    "constructor(": "constructor(";
  }): Promise<{
    /**
     * constructor(
     * @default "constructor("
     * @pattern "*\/"
     */
    "constructor(": "constructor(";
  }>;
  /**
   * The tool #private *\/ evil(); /**
   *  * @see
   * evil()
   */
  "#private"(args: {
    /**
     * #private
     * @default "#private"
     * @pattern "*\/"
     */
    "#private": "#private";
  }): Promise<{
    /**
     * #private
     * @default "#private"
     * @pattern "*\/"
     */
    "#private": "#private";
  }>;
};
