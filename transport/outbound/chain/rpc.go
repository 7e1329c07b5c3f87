package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// maxComplaint is how much of a node's own words is repeated in an error, in bytes.
const maxComplaint = 200

// request and response are those of JSON-RPC 2.0.
type request struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

type response struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    json.Number `json:"code"`
		Message string      `json:"message"`
	} `json:"error"`
}

// call asks the node and decodes its result into out.
func (c *Client) call(ctx context.Context, out any, method string, params ...any) error {
	id := c.ids.Add(1)
	if params == nil {
		params = []any{}
	}
	question, err := json.Marshal(request{"2.0", id, method, params})
	if err != nil {
		return fmt.Errorf("chain: %s: %w", method, err)
	}
	answer, err := c.post(ctx, question)
	if err != nil {
		return fmt.Errorf("chain: %s: %w", method, err)
	}
	if err := decode(answer, id, out); err != nil {
		return fmt.Errorf("chain: %s: %w", method, err)
	}
	return nil
}

// decode takes an answer apart.
func decode(answer []byte, id uint64, out any) error {
	var res response
	if err := json.Unmarshal(answer, &res); err != nil {
		return fmt.Errorf("malformed answer: %w", err)
	}
	if res.Error != nil {
		return fmt.Errorf("the node refuses: %s %.*q", res.Error.Code, maxComplaint, res.Error.Message)
	}
	if string(res.ID) != strconv.FormatUint(id, 10) {
		return errors.New("the answer is to another question")
	}
	if res.Result == nil {
		return errors.New("the answer has no result")
	}
	if err := json.Unmarshal(res.Result, out); err != nil {
		return fmt.Errorf("malformed result: %w", err)
	}
	return nil
}

func (c *Client) post(ctx context.Context, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, withoutAddress(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	res, err := c.http.Do(r)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer func() { _ = res.Body.Close() }() // only read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the node answers %d", res.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, MaxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(answer) > MaxAnswer {
		return nil, fmt.Errorf("the answer is larger than %d bytes", MaxAnswer)
	}
	return answer, nil
}

// withoutAddress takes the node's address, which may have a secret in it, out of an error.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
