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

-- head_of returns the head of what key holds, or nil if it is absent.
local function head_of(key)
  local head = call('GETRANGE', key, 0, HEAD - 1)
  if #head == HEAD and string.byte(head) == FORMAT then return head end
  if #head == 0 and call('EXISTS', key) == 0 then return nil end
  error('FOREIGN the key holds something other than an item', 0)
end

local function put(key, text, ttl, ...)
  if ttl == '' then return call('SET', key, text, ...) end
  return call('SET', key, text, 'PX', ttl, ...)
end

local function compare(key, head)
  local is = head_of(key)
  if not is then return ABSENT end
  if is ~= head then return CONFLICT end
  return OK
end

local function too_large(high, low)
  return high > MAX_HIGH or high == MAX_HIGH and low > MAX_LOW
end

-- parse returns the two parts of a decimal number, or nil.
local function parse(digits)
  if not string.find(digits, '^%d+$') then return nil end
  digits = string.gsub(digits, '^0+', '')
  if #digits > 19 then return nil end
  local high = tonumber(string.sub(digits, 1, -10)) or 0
  local low = tonumber(string.sub(digits, -9)) or 0
  if too_large(high, low) then return nil end
  return high, low
end

-- add returns the two parts of the sum, which is 0 if it would be negative.
local function add(high, low, delta_high, delta_low)
  high, low = high + delta_high, low + delta_low
  if low < 0 then
    high, low = high - 1, low + BILLION
  elseif low >= BILLION then
    high, low = high + 1, low - BILLION
  end
  if high < 0 then return 0, 0 end
  return high, low
end

local carry_out = {}

function carry_out.get(key)
  local text = call('GET', key)
  if text then head_of(key) end
  return text
end

function carry_out.set(key, text, ttl)
  put(key, text, ttl)
  return OK
end

function carry_out.add(key, text, ttl)
  return put(key, text, ttl, 'NX') and OK or PRESENT
end

function carry_out.cas(key, head, text, ttl)
  local outcome = compare(key, head)
  if outcome == OK then put(key, text, ttl) end
  return outcome
end

function carry_out.delete(key)
  return call('DEL', key) == 1 and OK or ABSENT
end

function carry_out.cdel(key, head)
  local outcome = compare(key, head)
  if outcome == OK then call('DEL', key) end
  return outcome
end

function carry_out.append(key, head, bytes, unless)
  if not head_of(key) then return NOT_STORED end
  local size = call('STRLEN', key) - HEAD
  if size + #bytes > $MAX_VALUE then return NOT_STORED end
  if unless ~= '' and #unless <= size and call('GETRANGE', key, -#unless, -1) == unless then
    return SEALED
  end
  call('SETRANGE', key, 0, head)
  call('APPEND', key, bytes)
  return OK
end

function carry_out.incr(key, head, delta_high, delta_low)
  if not head_of(key) then return ABSENT end
  local high, low = parse(call('GETRANGE', key, HEAD, -1))
  if not high then return NOT_NUMBER end
  high, low = add(high, low, delta_high, delta_low)
  if too_large(high, low) then return NOT_NUMBER end
  local sum = string.format('%.0f', low)
  if high > 0 then sum = string.format('%.0f%09.0f', high, low) end
  call('SET', key, head .. sum, 'KEEPTTL')
  return sum
end

local answers = {}
for i, key in ipairs(KEYS) do
  local kind, a, b, c = unpack(ARGV, 4 * i - 3, 4 * i)
  local ok, answer = pcall(carry_out[kind], key, a, b, c)
  if not ok then
    answers[i] = redis.error_reply(answer)
    break
  end
  answers[i] = answer
end
return answers
