-- Carries out ops in order, op i on KEYS[i], and stops at the first one that the
-- server refuses. ARGV holds four values for each op: its kind, with the number of
-- its chain before it if it has one, and three that depend on the kind. The reply holds an answer for each op carried out: one of
-- the numbers below, the value of a get (nil if absent), or the decimal sum of
-- an increment. The last answer may be an error.
local OK, ABSENT, PRESENT, CONFLICT, NOT_STORED, SEALED, NOT_NUMBER, SKIPPED = 0, 1, 2, 3, 4, 5, 6, 7

-- A stored string is a head of nine bytes (the format and the version) and the
-- value.
local FORMAT, HEAD = 0xF5, 9
local MAX_SIZE = HEAD + $MAX_VALUE

local FOREIGN = 'FOREIGN the key holds something other than an item'

-- The server makes all functions anew for each run. Appends, the most frequent ops that need the
-- script, make do with this one. A short string, as most lists are, is written as a whole.
local SHORT = 256

local function append(key, head, bytes, unless)
  local was = redis.pcall('GETRANGE', key, 0, SHORT - 1)
  if type(was) == 'table' then return was end
  if was == '' and redis.pcall('EXISTS', key) == 0 then return NOT_STORED end
  if #was < HEAD or string.byte(was) ~= FORMAT then return redis.error_reply(FOREIGN) end
  if unless ~= '' then
    -- A value that is shorter than unless must not end with it by its head.
    local tail = #was < SHORT and was or redis.call('GETRANGE', key, -HEAD - #unless, -1)
    if #tail >= HEAD + #unless and string.sub(tail, -#unless) == unless then
      return redis.call('STRLEN', key) + #bytes > MAX_SIZE and NOT_STORED or SEALED
    end
  end
  if #was < SHORT then
    if #was + #bytes > MAX_SIZE then return NOT_STORED end
    local done = redis.pcall('SET', key, head .. string.sub(was, HEAD + 1) .. bytes, 'KEEPTTL')
    return done.err and done or OK
  end
  local size = redis.pcall('SETRANGE', key, 0, head)
  if type(size) == 'table' then return size end
  if size + #bytes > MAX_SIZE then
    redis.call('SETRANGE', key, 0, string.sub(was, 1, HEAD))
    return NOT_STORED
  end
  local done = redis.pcall('APPEND', key, bytes)
  return type(done) == 'table' and done or OK
end

-- other_kinds returns the function that carries out ops of all other kinds.
local function other_kinds()
  -- A number is held in two parts, each exact as a double: high * BILLION + low.
  local BILLION = 1000000000
  local MAX_HIGH, MAX_LOW = $MAX_HIGH, $MAX_LOW

  local function call(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then error(reply.err, 0) end
    return reply
  end

  -- item returns the text of an item, or its head.
  local function item(text)
    if #text >= HEAD and string.byte(text) == FORMAT then return text end
    error(FOREIGN, 0)
  end

  -- head_of returns the head of what key holds, or nil if it is absent.
  local function head_of(key)
    local head = call('GETRANGE', key, 0, HEAD - 1)
    if #head == 0 and call('EXISTS', key) == 0 then return nil end
    return item(head)
  end

  local function put(key, text, ttl, ...)
    if ttl == '' then return call('SET', key, text, ...) end
    return call('SET', key, text, 'PX', ttl, ...)
  end

  -- sum returns the digits of a number to which two parts were added: 0 if it would be
  -- negative, and nil if it is none or would be too large.
  local function sum(digits, high, low)
    if not string.find(digits, '^%d+$') then return nil end
    digits = string.gsub(digits, '^0+', '')
    if #digits > 19 then return nil end
    local was_high = tonumber(string.sub(digits, 1, -10)) or 0
    local was_low = tonumber(string.sub(digits, -9)) or 0
    if was_high > MAX_HIGH or was_high == MAX_HIGH and was_low > MAX_LOW then return nil end
    high, low = was_high + high, was_low + low
    if low < 0 then
      high, low = high - 1, low + BILLION
    elseif low >= BILLION then
      high, low = high + 1, low - BILLION
    end
    if high < 0 then return '0' end
    if high > MAX_HIGH or high == MAX_HIGH and low > MAX_LOW then return nil end
    if high == 0 then return string.format('%.0f', low) end
    return string.format('%.0f%09.0f', high, low)
  end

  local function carry_out(kind, key, a, b, c)
    if kind == 'cas' or kind == 'cdel' then
      local head = head_of(key)
      if not head then return ABSENT end
      if head ~= a then return CONFLICT end
      if kind == 'cas' then put(key, b, c) else call('DEL', key) end
      return OK
    elseif kind == 'incr' then
      local head, high, low = a, b, c
      local text = call('GET', key)
      if not text then return ABSENT end
      local digits = sum(string.sub(item(text), HEAD + 1), high, low)
      if not digits then return NOT_NUMBER end
      call('SET', key, head .. digits, 'KEEPTTL')
      return digits
    elseif kind == 'add' then
      return put(key, a, b, 'NX') and OK or PRESENT
    elseif kind == 'set' then
      put(key, a, b)
      return OK
    elseif kind == 'delete' then
      return call('DEL', key) == 1 and OK or ABSENT
    else -- get
      local text = call('GET', key)
      return text and item(text)
    end
  end

  return carry_out
end

local answers, carry_out, broken = {}, nil, {}
for i, key in ipairs(KEYS) do
  local at = 4 * i
  local kind, a, b, c = ARGV[at - 3], ARGV[at - 2], ARGV[at - 1], ARGV[at]
  local chain
  if string.byte(kind) <= 57 then -- a digit
    chain, kind = string.match(kind, '^(%d+)(%a+)$')
  end
  local answer
  if chain and broken[chain] then
    answer = SKIPPED
  elseif kind == 'append' then
    answer = append(key, a, b, c)
  else
    carry_out = carry_out or other_kinds()
    local ok
    ok, answer = pcall(carry_out, kind, key, a, b, c)
    if not ok then answer = redis.error_reply(answer) end
  end
  answers[i] = answer
  if chain and type(answer) == 'number' and answer ~= OK then broken[chain] = true end
  if type(answer) == 'table' then break end
end
return answers
