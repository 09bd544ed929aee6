-- Carries out ops in order, op i on KEYS[i], and stops at the first one that the
-- server refuses. ARGV holds four values for each op: its kind, and three that
-- depend on the kind. The reply holds an answer for each op carried out: one of
-- the numbers below, the value of a get (nil if absent), or the decimal sum of
-- an increment. The last answer may be an error.
local OK, ABSENT, PRESENT, CONFLICT, NOT_STORED, SEALED, NOT_NUMBER = 0, 1, 2, 3, 4, 5, 6

-- A stored string is a head of nine bytes (the format and the version) and the
-- value.
local FORMAT, HEAD = 0xF5, 9

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
  error('FOREIGN the key holds something other than an item', 0)
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

-- The server makes all functions anew for each run, so the kinds share one.
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
  elseif kind == 'append' then
    local head, bytes, unless = a, b, c
    if not head_of(key) then return NOT_STORED end
    local size = call('STRLEN', key) - HEAD
    if size + #bytes > $MAX_VALUE then return NOT_STORED end
    if unless ~= '' and #unless <= size and call('GETRANGE', key, -#unless, -1) == unless then
      return SEALED
    end
    call('SETRANGE', key, 0, head)
    call('APPEND', key, bytes)
    return OK
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

local answers = {}
for i, key in ipairs(KEYS) do
  local at = 4 * i
  local ok, answer = pcall(carry_out, ARGV[at - 3], key, ARGV[at - 2], ARGV[at - 1], ARGV[at])
  if not ok then
    answers[i] = redis.error_reply(answer)
    break
  end
  answers[i] = answer
end
return answers
